//! Node over HTTP/2 that allows few streams at once on a connection.

use super::{placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "node-streams",
    truth: Truth::Wall(&[WallId::A11]),
    construction: "Node, HTTP/2, maxConcurrentStreams below -p",
    trap: "every request waits and both hosts are idle: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let streams = scaled(dice.whole("streams", 5, 16), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 40.0);
    let server =
        Program::ordinary("node", &format!("APP=streams STREAMS={streams} SLEEP_MS={sleep_ms}"));
    placed(dice, server, "load {url} --http2-prior-knowledge -c 2 -p 64 -d 4s")
}
