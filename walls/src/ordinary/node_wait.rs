//! Node that waits in each request and has no limit: twice the connections give twice the rate. One
//! level could not tell this from a pool of the same size, so this is a ramp.

use super::{placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "node-wait",
    truth: Truth::NoWall,
    construction: "Node, a timer in each request, no limit, closed loop with few connections",
    trap: "rate flat and all idle: looks like a pool, or like one listener",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let connections = scaled(dice.whole("connections", 4, 16), factor);
    let sleep_ms = dice.real("sleep_ms", 20.0, 60.0);
    let server = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    let ramp = format!("ramp {{url}} -c 1..{connections}*2 -d 1.5s --warmup 300ms");
    let setup = placed(dice, server, &ramp);
    setup.proven_by(&format!("load {{url}} -c {connections} -d 2s"))
}
