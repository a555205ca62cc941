//! Warp with an MVar that is held during a wait. Its threads are those of the runtime of Haskell.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "warp-lock",
    truth: Truth::Wall(&[WallId::A1]),
    construction: "Warp, an MVar held during a wait",
    trap: "threads of the runtime wait where none of the host does: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = dice.real("sleep_ms", 3.0, 8.0) / factor;
    let settings = format!("APP=lock SLEEP_MS={sleep_ms:.3}");
    placed(dice, Program::held_out("warp", &settings), RAMP).proven_by(PROOF)
}
