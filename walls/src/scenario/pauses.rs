//! A server that repeatedly stops as a whole.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Host, Setup};
use crate::spells::Spells;
use model::wall::WallId;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "pauses",
    truth: Truth::Wall(&[WallId::A5]),
    construction: "server stopped for tens of milliseconds twice a second",
    trap: "a tenth of the rate is gone and nothing is hot; periodic like a quota",
    proof: Proof::Moves(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let stop_ms = dice.real("stop_ms", 40.0, 80.0) / factor;
    let every_ms = dice.real("every_ms", 400.0, 600.0);
    let mut setup = Setup::new("--workers 8 --sleep 3ms", "load {url} -c 8 -d 3s");
    let time = |ms: f64| Duration::from_secs_f64(ms / 1e3);
    let spells = Spells::beat(time(stop_ms), time(every_ms));
    setup.actors = vec![Actor::Pauser { of: Host::Server, spells }];
    setup
}
