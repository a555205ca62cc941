//! Warp in a control group with a CPU quota.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "warp-quota",
    truth: Truth::Wall(&[WallId::S3]),
    construction: "Warp, a handler that computes, in a group with a CPU quota",
    trap: "the host is nearly idle: the client is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let quota = dice.real("quota", 0.1, 0.25) * factor;
    let mut server = Program::held_out("warp", "APP=compute ROUNDS=100000");
    server.allowance.quota = Some(quota);
    placed(dice, server, RAMP).proven_by(PROOF)
}
