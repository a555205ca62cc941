//! Node that calls another service over an agent with few sockets.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "node-agent",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "Node, http.Agent with maxSockets, behind it a service that waits",
    trap: "one thread in its event loop, nothing busy: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sockets = scaled(dice.whole("sockets", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 25.0);
    let proxy = Program::ordinary("node", &format!("APP=proxy SOCKETS={sockets}"));
    let behind = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    asking(behind, placed(dice, proxy, RAMP).proven_by(PROOF))
}
