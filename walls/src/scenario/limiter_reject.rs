//! A limiter in the application that refuses at once.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "limiter-reject",
    truth: Truth::Wall(&[WallId::M4, WallId::A4]),
    construction: "token bucket in the server that sends 429 fast",
    trap: "the rate of responses rises when the limiter works",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let server = format!("--workers 8 --sleep 2ms --limit {rate:.0}/s --limit-mode reject");
    Setup::new(&server, "load {url} -c 16 -d 3s")
}
