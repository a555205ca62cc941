//! Vert.x with a timer in each request, far below its capacity.

use crate::dice::Dice;
use crate::ordinary::placed;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "vertx-light",
    truth: Truth::NoWall,
    construction: "Vert.x, a short timer in each request, a low rate in open loop",
    trap: "a late request of many: the client is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 8, 25) * 10) * factor;
    let sleep_ms = dice.whole("sleep_ms", 2, 8);
    let load = format!("load {{url}} -R {rate:.0} -c 64 -d 5s");
    placed(dice, Program::held_out("java", &format!("APP=Loop SLEEP_MS={sleep_ms}")), &load)
}
