//! Echo with its middleware for rates: 429 without a header that explains it.

use crate::dice::Dice;
use crate::ordinary::placed;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "echo-refuse",
    truth: Truth::Wall(&[WallId::A4]),
    construction: "Echo, middleware.RateLimiter: 429 above a rate by address",
    trap: "the rate of responses rises when the limiter works",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let settings = format!("APP=refuse RATE={rate:.0}");
    placed(dice, Program::held_out("go", &settings), "load {url} -c 16 -d 5s")
}
