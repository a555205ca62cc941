//! Fastify with a pool of worker threads.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "piscina-threads",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Fastify and Piscina, few worker threads, a task that blocks its thread",
    trap: "the event loop reads everything and idles: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 4, 8), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("APP=workers THREADS={threads} SLEEP_MS={sleep_ms}");
    placed(dice, Program::held_out("node", &settings), RAMP).proven_by(PROOF)
}
