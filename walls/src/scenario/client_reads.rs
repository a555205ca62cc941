//! A generator that is stopped again and again while large responses arrive.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Host, Setup};
use model::wall::WallId;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "client-reads",
    truth: Truth::Wall(&[WallId::C9]),
    construction: "generator stopped for most of the time, large bodies, fast server",
    trap: "responses of the server seem slow",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let going_ms = dice.real("going_ms", 15.0, 30.0) * factor;
    let stop_ms = dice.real("stop_ms", 60.0, 90.0);
    let body_bytes = dice.whole("body_bytes", 1_000_000, 2_000_000);
    let server = format!("--workers 16 --body {body_bytes}");
    let mut setup = Setup::new(&server, "load {url} -c 4 -d 4s");
    setup.actors = vec![Actor::Pauser {
        of: Host::Client,
        stop: Duration::from_secs_f64(stop_ms / 1e3),
        every: Duration::from_secs_f64((going_ms + stop_ms) / 1e3),
    }];
    setup
}
