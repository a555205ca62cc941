//! lighttpd with a static page, far below its capacity.

use crate::dice::Dice;
use crate::ordinary::placed;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "lighttpd-light",
    truth: Truth::NoWall,
    construction: "lighttpd, a static page, a low rate in open loop",
    trap: "a late request of many: the client is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let bytes = dice.whole("bytes", 500, 8000);
    let load = format!("load {{url}} -R {rate:.0} -c 16 -d 5s");
    placed(dice, Program::held_out("lighttpd", &format!("BYTES={bytes}")), &load)
}
