//! Tomcat with maxThreads.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tomcat-threads",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Tomcat, maxThreads, a servlet that sleeps",
    trap: "idle threads of the runtime look like workers, workers like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 5, 12), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("THREADS={threads} ACCEPT=100 CONNECTIONS=8192 SLEEP_MS={sleep_ms:.0}");
    placed(dice, Program::ordinary("tomcat", &settings), RAMP).proven_by(PROOF)
}
