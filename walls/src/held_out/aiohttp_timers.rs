//! aiohttp with a timer in each request and nothing that limits.

use crate::dice::Dice;
use crate::ordinary::{placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "aiohttp-timers",
    truth: Truth::NoWall,
    construction: "aiohttp, a timer in each request, no limit, closed loop with few connections",
    trap: "latency is all wait and all is idle: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let connections = scaled(dice.whole("connections", 4, 16), factor);
    let sleep_ms = dice.real("sleep_ms", 20.0, 60.0);
    let settings = format!("APP=asynchronous LIMIT=none SLEEP_MS={sleep_ms}");
    let ramp = format!("ramp {{url}} -c 1..{connections}*2 -d 1.5s --warmup 300ms");
    let setup = placed(dice, Program::held_out("python", &settings), &ramp);
    setup.proven_by(&format!("load {{url}} -c {connections} -d 2s"))
}
