//! An open loop far below the capacity of the server: there is no wall to find.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "little-load",
    truth: Truth::NoWall,
    construction: "offered rate at 30 % of what a pool of workers can do",
    trap: "whatever is used most is named",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = dice.whole("workers", 6, 12);
    let sleep_ms = dice.real("sleep_ms", 8.0, 20.0) * dice.patience;
    let rate = 0.3 * f64::from(workers) / sleep_ms * 1000.0;
    Setup::new(
        &format!("--workers {workers} --sleep {sleep_ms}ms"),
        &format!("load {{url}} -c 64 -R {:.0} -d 3s", rate * factor),
    )
}
