//! Caddy with few connections to the service behind it.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "caddy-upstream",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "Caddy reverse_proxy, max_conns_per_host, behind it a service that waits",
    trap: "Caddy is idle: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sockets = scaled(dice.whole("sockets", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 25.0);
    let proxy = Program::ordinary("caddy", &format!("SOCKETS={sockets}"));
    let behind = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    asking(behind, placed(dice, proxy, RAMP).proven_by(PROOF))
}
