//! Go over HTTP/2 with a stream limit that the load does not reach.

use super::placed;
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "go-streams-light",
    truth: Truth::NoWall,
    construction: "Go, HTTP/2, a low rate in open loop, the stream limit below -p",
    trap: "a limit below -p and a few late requests: looks like the limit",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let streams = dice.whole("streams", 8, 20);
    let load = format!("load {{url}} --http2-prior-knowledge -c 4 -p 32 -R {rate:.0} -d 5s");
    placed(
        dice,
        Program::ordinary(
            "go",
            &format!("APP=semaphore SLOTS=100000 SLEEP_MS=1 STREAMS={streams}"),
        ),
        &load,
    )
}
