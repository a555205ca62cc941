//! Puma with a fixed number of threads.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "puma-threads",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Puma, threads, a Rack handler that sleeps",
    trap: "threads wait and the reactor takes requests: looks like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("THREADS={threads} SLEEP_MS={sleep_ms}");
    placed(dice, Program::ordinary("puma", &settings), RAMP).proven_by(PROOF)
}
