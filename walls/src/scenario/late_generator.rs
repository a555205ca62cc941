//! A generator in open loop that is stopped repeatedly.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Host, Setup};
use crate::spells::Spells;
use model::wall::WallId;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "late-generator",
    truth: Truth::Wall(&[WallId::C4]),
    construction: "generator stopped for tens of milliseconds again and again, rate far below \
        capacity",
    trap: "latency of the server seems bad",
    proof: Proof::Moves(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let stop_ms = dice.real("stop_ms", 30.0, 40.0) / factor;
    let every_ms = dice.real("every_ms", 140.0, 180.0);
    let rate = dice.whole("rate", 500, 900);
    // At least 30 of 180 requests are due during a stop of at least 30 ms, so a tenth of all waits
    // for over 30 x (1 - 0.1 / 0.167) = 12 ms. Of the at most 36 requests that one stop leaves,
    // eight workers have done the last in 9 ms: a punctual generator would see under 9 ms at p90.
    let client = format!("load {{url}} -c 64 -R {rate} -d 3s --expect p90<11ms");
    let mut setup = Setup::new("--workers 8 --sleep 2ms", &client);
    let time = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let spells = Spells::beat(time(stop_ms), time(every_ms));
    setup.actors = vec![Actor::Pauser { of: Host::Client, spells }];
    setup
}
