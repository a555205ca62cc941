//! Squid in front of a service that has used up its CPU quota.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, asking, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "squid-origin",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "Squid as an accelerator, behind it Fastify that computes, with a CPU quota",
    trap: "Squid is idle and reads everything: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let quota = dice.real("quota", 0.1, 0.25) * factor;
    let mut behind = Program::held_out("node", "APP=hash ROUNDS=2000");
    behind.allowance.quota = Some(quota);
    asking(behind, placed(dice, Program::held_out("squid", ""), RAMP).proven_by(PROOF))
}
