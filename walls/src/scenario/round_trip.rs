//! Only the round trip and the concurrency of the load limit.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "round-trip",
    truth: Truth::NoWall,
    construction: "closed loop with few connections over a line with a delay, fast server",
    trap: "all idle and latency high: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let one_way_ms = dice.real("one_way_ms", 8.0, 20.0);
    let connections = f64::from(dice.whole("connections", 10, 24)) * factor;
    let mut setup = Setup::new("--workers 8", &format!("load {{url}} -c {connections:.0} -d 3s"));
    setup.one_way = Some(Duration::from_secs_f64(one_way_ms / 1e3));
    setup
}
