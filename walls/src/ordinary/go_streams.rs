//! Go over HTTP/2 that allows few streams at once on a connection, asked at a rate that they cannot
//! carry.

use super::{placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "go-streams",
    truth: Truth::Wall(&[WallId::A11]),
    construction: "Go, HTTP/2, MaxConcurrentStreams, an open loop above what the streams carry",
    trap: "late sends: looks like a slow generator",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let streams = scaled(dice.whole("streams", 6, 14), factor);
    let sleep_ms = dice.real("sleep_ms", 20.0, 40.0);
    let connections = 2;
    // Twice of what the streams carry with the limit at 1.4.
    let carried = f64::from(streams * connections) / factor / (sleep_ms / 1e3);
    let rate = (carried * 3.0).round();
    let settings = format!("APP=semaphore SLOTS=100000 STREAMS={streams} SLEEP_MS={sleep_ms}");
    let load =
        format!("load {{url}} --http2-prior-knowledge -c {connections} -p 64 -R {rate} -d 4s");
    placed(dice, Program::ordinary("go", &settings), &load)
}
