//! Node with few connections to PostgreSQL: a pool, whose members wait for a downstream.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "postgres-pool",
    truth: Truth::Wall(&[WallId::A3, WallId::A2]),
    construction: "Node and pg, Pool with max, each query takes a while",
    trap: "all is idle and nothing waits unread: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let pool = scaled(dice.whole("pool", 4, 10), factor);
    let hold_ms = dice.real("hold_ms", 10.0, 30.0);
    let server = Program::ordinary("node", &format!("APP=query POOL={pool} HOLD_MS={hold_ms:.3}"));
    asking(Program::ordinary("postgres", ""), placed(dice, server, RAMP).proven_by(PROOF))
}
