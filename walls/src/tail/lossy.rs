//! A link that drops few packets.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::Setup;
use model::tail::TailCause;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-lossy",
    truth: Truth::Tail(&[TailCause::Resent]),
    construction: "a line with a delay that loses about one packet of a hundred",
    trap: "both hosts are idle, and the mean latency hardly shows it",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    // More losses a second would be in nearly every reading, and explain nothing.
    let rate = dice.whole("rate", 50, 70);
    let one_way_ms = dice.real("one_way_ms", 1.0, 3.0);
    let lost = dice.real("lost_percent", 0.7, 1.0) / 100.0 / factor;
    let client = format!("load {{url}} -c 64 -R {rate} --arrivals poisson -d 25s");
    let mut setup = Setup::new("--workers 8", &client);
    setup.one_way = Some(Duration::from_secs_f64(one_way_ms / 1e3));
    setup.lost = lost;
    setup
}
