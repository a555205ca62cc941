//! Apache with threads, each of which waits for the service behind it. The rate is threads over the
//! latency of the service, so either moves it.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "apache-event",
    truth: Truth::Wall(&[WallId::A2, WallId::A3]),
    construction: "Apache with mpm_event and MaxRequestWorkers as a proxy, behind it a service \
        that waits",
    trap: "threads and the listener wait: looks like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = scaled(dice.whole("workers", 6, 12), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let proxy = Program::ordinary("apache", &format!("MPM=event WORKERS={workers}"));
    let behind = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    asking(behind, placed(dice, proxy, RAMP).proven_by(PROOF))
}
