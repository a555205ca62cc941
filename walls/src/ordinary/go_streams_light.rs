//! Go over HTTP/2 with a stream limit that the load does not reach.

use super::light_streams;
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::Setup;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "go-streams-light",
    truth: Truth::NoWall,
    construction: "Go, HTTP/2, a low rate in open loop, the stream limit below -p",
    trap: "a limit below -p and a few late requests: looks like the limit",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    light_streams(dice, factor, "go", "APP=semaphore SLOTS=100000 SLEEP_MS=1")
}
