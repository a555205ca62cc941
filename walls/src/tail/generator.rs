//! A generator that is stopped now and then.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Actor, Host, Setup};
use crate::spells::Spells;
use model::tail::TailCause;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-generator",
    truth: Truth::Tail(&[TailCause::Generator]),
    construction: "the generator is stopped at random instants, each time for another time",
    trap: "from outside it looks like a server that pauses",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = dice.whole("rate", 200, 400);
    let spells = Spells::drawn(dice, (0.4, 1.6), (0.06 / factor, 0.14 / factor));
    let client = format!("load {{url}} -c 64 -R {rate} --arrivals poisson -d 12s");
    let mut setup = Setup::new("--workers 8 --sleep 2ms", &client);
    setup.actors = vec![Actor::Pauser { of: Host::Client, spells }];
    setup
}
