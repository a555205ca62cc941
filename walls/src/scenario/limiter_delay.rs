//! A limiter in the application that makes requests wait.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{RAMP, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "limiter-delay",
    truth: Truth::Wall(&[WallId::A4]),
    construction: "token bucket in the server that delays",
    trap: "rate flat and all idle: looks like a pool or a shaped link",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 15, 50) * 10) * factor;
    let server = format!("--workers 64 --limit {rate:.0}/s --limit-mode delay");
    Setup::new(&server, RAMP).proven_by("load {url} -c 16 -d 2s")
}
