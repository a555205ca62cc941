//! Undertow: threads for I/O read requests, worker threads run them.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "undertow-workers",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Undertow, few worker threads, a blocking handler that sleeps",
    trap: "idle threads of the runtime look like workers, workers like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 5, 12), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("APP=Threads LIMIT=workers THREADS={threads} SLEEP_MS={sleep_ms:.0}");
    placed(dice, Program::held_out("java", &settings), RAMP).proven_by(PROOF)
}
