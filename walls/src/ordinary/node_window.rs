//! Node over HTTP/2 with a small window for bodies, far away.

use super::{placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "node-window",
    truth: Truth::Wall(&[WallId::A12]),
    construction: "Node, HTTP/2, initialWindowSize below the size of a body, a long way",
    trap: "a link far from full and both hosts idle: looks like a round trip",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let window = scaled(dice.whole("window_kb", 4, 12), factor) * 1024;
    let one_way_ms = dice.real("one_way_ms", 4.0, 10.0);
    let server = Program::ordinary("node", &format!("APP=streams WINDOW={window} SLEEP_MS=0"));
    let mut setup = placed(
        dice,
        server,
        "load {url} --http2-prior-knowledge -c 4 -p 1 -X POST -f {file} -d 4s",
    );
    setup.client.file = Some("x".repeat(128 << 10));
    setup.one_way = Some(Duration::from_secs_f64(one_way_ms / 1e3));
    setup
}
