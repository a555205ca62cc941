//! Unicorn: processes that serve one request each and close its connection.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "unicorn-workers",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Unicorn, worker_processes, a Rack application that sleeps",
    trap: "connections wait in the accept queue and are closed: looks like a short backlog or \
        churn",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = scaled(dice.whole("workers", 3, 6), factor);
    let sleep_ms = dice.real("sleep_ms", 20.0, 50.0);
    let settings = format!("APP=unicorn WORKERS={workers} SLEEP_MS={sleep_ms}");
    placed(dice, Program::held_out("ruby", &settings), RAMP).proven_by(PROOF)
}
