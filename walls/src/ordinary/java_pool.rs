//! The HTTP server of the JDK with a fixed thread pool.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "java-pool",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "com.sun.net.httpserver, Executors.newFixedThreadPool, a handler that sleeps",
    trap: "idle threads of the runtime look like workers, workers like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("APP=Pool THREADS={threads} SLEEP_MS={sleep_ms:.0} NODELAY=true");
    placed(dice, Program::ordinary("java", &settings), RAMP).proven_by(PROOF)
}
