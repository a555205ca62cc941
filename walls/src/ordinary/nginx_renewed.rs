//! nginx over HTTP/2 that ends each connection after few requests, far away.

use super::{placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "nginx-renewed",
    truth: Truth::Wall(&[WallId::A13]),
    construction: "nginx, HTTP/2, keepalive_requests of a few dozen, a long way",
    trap: "requests wait while nothing is busy: looks like a round trip",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let requests = scaled(dice.whole("requests", 8, 20), factor);
    let one_way_ms = dice.real("one_way_ms", 4.0, 10.0);
    let server = Program::ordinary("nginx", &format!("CONFIG=renewed REQUESTS={requests}"));
    let mut setup = placed(dice, server, "load {url} --http2-prior-knowledge -c 4 -p 16 -d 4s");
    setup.one_way = Some(Duration::from_secs_f64(one_way_ms / 1e3));
    setup
}
