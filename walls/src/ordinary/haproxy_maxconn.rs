//! HAProxy at its global maxconn: it stops accepting. This limits connections, and further ones
//! wait in the accept queue.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "haproxy-maxconn",
    truth: Truth::Wall(&[WallId::A4, WallId::K1]),
    construction: "HAProxy, global maxconn below the number of connections",
    trap: "served connections are fast and the others silent: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let slots = scaled(dice.whole("slots", 6, 12), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 25.0);
    let proxy = Program::ordinary("haproxy", &format!("CONFIG=global SLOTS={slots}"));
    let behind = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    asking(behind, placed(dice, proxy, RAMP).proven_by(PROOF))
}
