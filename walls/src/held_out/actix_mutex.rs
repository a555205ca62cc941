//! Actix Web with a mutex that blocks its event loops.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "actix-mutex",
    truth: Truth::Wall(&[WallId::A1]),
    construction: "Actix Web, eight workers, a std::sync::Mutex held while sleeping",
    trap: "workers wait, each an event loop: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = dice.real("sleep_ms", 3.0, 8.0) / factor;
    let settings = format!("APP=mutex WORKERS=8 SLEEP_MS={sleep_ms:.3}");
    placed(dice, Program::held_out("actix", &settings), RAMP).proven_by(PROOF)
}
