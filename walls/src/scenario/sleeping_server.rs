//! Only the concurrency of the load limits: twice the connections give twice the rate. One level
//! could not tell this from a pool of the same size, so this is a ramp.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "sleeping-server",
    truth: Truth::NoWall,
    construction: "closed loop with few connections on a server that sleeps in each request, \
        without any limit",
    trap: "CPUs idle and rate flat: looks like a pool or a downstream",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let connections = dice.whole("connections", 6, 16);
    let sleep_ms = dice.real("sleep_ms", 30.0, 70.0);
    let connections = (f64::from(connections) * factor).round();
    Setup::new(
        &format!("--thread-per-connection --sleep {sleep_ms}ms"),
        &format!("ramp {{url}} -c 1..{connections}*2 -d 1.5s --warmup 300ms"),
    )
    .proven_by(&format!("load {{url}} -c {connections} -d 2s"))
}
