//! FastAPI with an async handler that blocks the event loop: a pool of one worker that waits, or a
//! section that serialises all requests.

use super::{PROOF, RAMP, placed};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "uvicorn-blocked",
    truth: Truth::Wall(&[WallId::A2, WallId::A1]),
    construction: "uvicorn and FastAPI, an async handler that calls time.sleep",
    trap: "one thread sleeps and all is idle: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = dice.real("sleep_ms", 3.0, 9.0) / factor;
    let settings = format!("APP=blocked THREADS=40 SLEEP_MS={sleep_ms:.3}");
    placed(dice, Program::ordinary("python", &settings), RAMP).proven_by(PROOF)
}
