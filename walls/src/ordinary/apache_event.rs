//! Apache with threads: MaxRequestWorkers of them serve, and no more.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "apache-event",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Apache with mpm_event, MaxRequestWorkers, a handler that sleeps",
    trap: "threads and the listener wait: looks like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = scaled(dice.whole("workers", 6, 12), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("MPM=event WORKERS={workers} SLEEP_MS={sleep_ms}");
    placed(dice, Program::ordinary("apache", &settings), RAMP).proven_by(PROOF)
}
