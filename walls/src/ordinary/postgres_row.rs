//! Node that updates one row of PostgreSQL, whose lock serialises all transactions.

use super::{PROOF, RAMP, asking, placed};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "postgres-row",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "Node and pg, each request updates one row in a transaction that takes a while",
    trap: "all is idle on both: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let hold_ms = dice.real("hold_ms", 4.0, 10.0) / factor;
    let server = Program::ordinary("node", &format!("APP=row POOL=32 HOLD_MS={hold_ms:.3}"));
    asking(Program::ordinary("postgres", ""), placed(dice, server, RAMP).proven_by(PROOF))
}
