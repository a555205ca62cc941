//! waitress: one thread reads requests, others run the application.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "waitress-threads",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "waitress, threads, an application that sleeps",
    trap: "the reading thread takes every request: nothing waits unread",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("APP=threads THREADS={threads} SLEEP_MS={sleep_ms}");
    placed(dice, Program::held_out("python", &settings), RAMP).proven_by(PROOF)
}
