//! Gin far below its capacity.

use crate::dice::Dice;
use crate::ordinary::placed;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "gin-light",
    truth: Truth::NoWall,
    construction: "Gin, a short page, a low rate in open loop",
    trap: "a late request of many: the client is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 10, 40) * 10) * factor;
    let load = format!("load {{url}} -R {rate:.0} -c 16 -d 5s");
    placed(dice, Program::held_out("go", "APP=page"), &load)
}
