//! Requests that wait until they are on a disk which another program uses now and then.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Actor, Setup};
use crate::spells::Spells;
use model::tail::TailCause;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-disk",
    truth: Truth::Tail(&[TailCause::Storage]),
    construction: "each request is written to the disk; a large file is, at random instants",
    trap: "most of the time the disk is idle",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = dice.whole("rate", 50, 80);
    let megabytes = (f64::from(dice.whole("megabytes", 150, 300)) / factor) as u32;
    let spells = Spells::drawn(dice, (1.5, 4.0), (0.0, 0.0));
    let client = format!("load {{url}} -c 32 -R {rate} --arrivals poisson -d 30s");
    let mut setup = Setup::new("--workers 16 --fsync {files}/log", &client);
    setup.actors = vec![Actor::Writer { megabytes, spells }];
    setup
}
