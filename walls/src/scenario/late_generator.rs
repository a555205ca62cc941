//! A generator in open loop that is stopped repeatedly.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Host, Setup};
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
    let stop_ms = dice.real("stop_ms", 20.0, 40.0) / factor;
    let every_ms = dice.real("every_ms", 180.0, 260.0);
    let rate = dice.whole("rate", 500, 900);
    let client = format!("load {{url}} -c 64 -R {rate} -d 3s --expect p99<8ms");
    let mut setup = Setup::new("--workers 8 --sleep 2ms", &client);
    setup.actors = vec![Actor::Pauser {
        of: Host::Client,
        stop: Duration::from_secs_f64(stop_ms / 1e3),
        every: Duration::from_secs_f64(every_ms / 1e3),
    }];
    setup
}
