//! A healthy server: nothing makes the slowest requests slow.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::Setup;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-clean",
    truth: Truth::Tail(&[]),
    construction: "open loop far below the capacity of a server that works or sleeps",
    trap: "whatever the host did in the slowest requests is named",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 400, 900)) * factor;
    let work = match dice.whole("work", 0, 2) {
        0 => String::from("--workers 8"),
        1 => format!("--workers 8 --spin {:.3}ms", dice.real("spin_ms", 0.05, 0.3)),
        _ => format!("--workers 32 --sleep {:.3}ms", dice.real("sleep_ms", 1.0, 8.0)),
    };
    let connections = dice.whole("connections", 16, 64);
    let spread = if dice.whole("poisson", 0, 1) == 1 { "poisson" } else { "fixed" };
    let client = format!("load {{url}} -c {connections} -R {rate:.0} --arrivals {spread} -d 4s");
    Setup::new(&work, &client)
}
