//! Another program that comes and goes on the CPU of the server.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Actor, Setup};
use crate::spells::Spells;
use model::tail::TailCause;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-neighbour",
    truth: Truth::Tail(&[TailCause::Others]),
    construction: "busy loop of a great weight on the CPU of the server, at random instants",
    trap: "over the window most of the CPU is idle",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = dice.whole("rate", 150, 250);
    let weight = dice.whole("weight", 20_000, 40_000).into();
    let spells = Spells::drawn(dice, (0.5, 1.5), (0.08 / factor, 0.2 / factor));
    let client = format!("load {{url}} -c 64 -R {rate} --arrivals poisson -d 12s");
    let mut setup = Setup::new("--workers 8 --spin 1ms", &client);
    setup.actors = vec![Actor::Guest { cpu: 0, weight, spells }];
    setup
}
