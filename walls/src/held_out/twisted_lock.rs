//! Twisted with a lock of its own that is held during a wait.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "twisted-lock",
    truth: Truth::Wall(&[WallId::A1]),
    construction: "Twisted, a DeferredLock held during a timer",
    trap: "one thread in its event loop and no futex: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = dice.real("sleep_ms", 4.0, 9.0) / factor;
    let settings = format!("APP=deferred SLEEP_MS={sleep_ms:.3}");
    placed(dice, Program::held_out("python", &settings), RAMP).proven_by(PROOF)
}
