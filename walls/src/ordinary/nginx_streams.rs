//! nginx over HTTP/2 that allows few streams at once on a connection, in front of a service that
//! waits.

use super::{asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "nginx-streams",
    truth: Truth::Wall(&[WallId::A11]),
    construction: "nginx, http2_max_concurrent_streams below -p, in front of Node",
    trap: "nginx waits for a service: looks like a slow downstream",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let streams = scaled(dice.whole("streams", 5, 14), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let server = Program::ordinary("nginx", &format!("CONFIG=streams STREAMS={streams}"));
    let behind = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    asking(behind, placed(dice, server, "load {url} --http2-prior-knowledge -c 2 -p 64 -d 4s"))
}
