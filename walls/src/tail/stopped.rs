//! A server that is stopped now and then.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Host, Setup};
use model::tail::TailCause;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-stopped",
    truth: Truth::Tail(&[TailCause::Paused]),
    construction: "the server is stopped at random instants, each time for another time",
    trap: "the longest stop has most of the slowest requests, and one event proves nothing",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    super::stopped_side(dice, factor, Host::Server)
}
