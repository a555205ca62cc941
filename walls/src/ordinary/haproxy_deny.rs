//! HAProxy with a table of rates: 429 at once.

use super::placed;
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "haproxy-deny",
    truth: Truth::Wall(&[WallId::M4, WallId::A4]),
    construction: "HAProxy, http-request deny 429 above a rate by address",
    trap: "the rate of responses rises when the limiter works",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let settings = format!("CONFIG=deny RATE={rate:.0}");
    placed(dice, Program::ordinary("haproxy", &settings), "load {url} -c 16 -d 3s")
}
