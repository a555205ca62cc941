//! Go with a mutex that is held during a wait.

use super::{PROOF, RAMP, placed};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "go-mutex",
    truth: Truth::Wall(&[WallId::A1]),
    construction: "Go, a sync.Mutex held while sleeping",
    trap: "goroutines wait where no thread does: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = dice.real("sleep_ms", 3.0, 8.0) / factor;
    let settings = format!("APP=mutex SLOTS=1 SLEEP_MS={sleep_ms:.3}");
    placed(dice, Program::ordinary("go", &settings), RAMP).proven_by(PROOF)
}
