//! FastAPI with a sync handler, which a thread pool of fixed size runs.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "uvicorn-threads",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "uvicorn and FastAPI, a sync handler that sleeps, tokens of the thread pool",
    trap: "the event loop is idle and reads everything: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 5, 12), factor);
    let sleep_ms = dice.real("sleep_ms", 20.0, 50.0);
    let settings = format!("APP=threads THREADS={threads} SLEEP_MS={sleep_ms}");
    placed(dice, Program::ordinary("python", &settings), RAMP).proven_by(PROOF)
}
