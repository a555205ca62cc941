//! HAProxy that passes few concurrent requests to the service behind it. The service itself has no
//! limit: HAProxy is a limiter, and the requests wait for a downstream.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "haproxy-server-maxconn",
    truth: Truth::Wall(&[WallId::A3, WallId::A4]),
    construction: "HAProxy, maxconn on the server line, behind it a service that waits",
    trap: "HAProxy is idle and its queue is its own: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let slots = scaled(dice.whole("slots", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 25.0);
    let proxy = Program::ordinary("haproxy", &format!("CONFIG=server SLOTS={slots}"));
    let behind = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    asking(behind, placed(dice, proxy, RAMP).proven_by(PROOF))
}
