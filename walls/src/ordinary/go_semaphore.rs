//! Go with a buffered channel as a semaphore with few slots.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "go-semaphore",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Go, a buffered channel as a semaphore around a sleep",
    trap: "goroutines wait where no thread does: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let slots = scaled(dice.whole("slots", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("APP=semaphore SLOTS={slots} SLEEP_MS={sleep_ms}");
    placed(dice, Program::ordinary("go", &settings), RAMP).proven_by(PROOF)
}
