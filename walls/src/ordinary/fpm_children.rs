//! PHP-FPM behind nginx, on the same host. nginx is the watched server, and FPM is behind it: a
//! pool, and a downstream.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "fpm-children",
    truth: Truth::Wall(&[WallId::A2, WallId::A3]),
    construction: "PHP-FPM with pm.max_children behind nginx, a page that sleeps",
    trap: "nginx is idle: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let children = scaled(dice.whole("children", 5, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("CHILDREN={children} SLEEP_MS={sleep_ms}");
    placed(dice, Program::ordinary("fpm", &settings), RAMP).proven_by(PROOF)
}
