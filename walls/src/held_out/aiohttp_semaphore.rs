//! aiohttp with a semaphore around what each request waits for. The event loop reads every request
//! at once, so the queue is in its memory.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "aiohttp-semaphore",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "aiohttp, asyncio.Semaphore around a wait",
    trap: "one thread in its event loop, nothing waits unread: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let slots = scaled(dice.whole("slots", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("APP=asynchronous LIMIT=semaphore SLOTS={slots} SLEEP_MS={sleep_ms}");
    placed(dice, Program::held_out("python", &settings), RAMP).proven_by(PROOF)
}
