//! Varnish with few threads in front of a service that waits. The rate is threads by latency of
//! the service, so either moves it.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "varnish-threads",
    truth: Truth::Wall(&[WallId::A2, WallId::A3]),
    construction: "Varnish, thread_pool_max, pass to a service that waits",
    trap: "threads wait and all is idle: looks like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 20, 30), factor);
    let sleep_ms = dice.real("sleep_ms", 20.0, 40.0);
    let cache = Program::ordinary("varnish", &format!("THREADS={threads}"));
    let behind = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    asking(behind, placed(dice, cache, RAMP).proven_by(PROOF))
}
