//! Node that queries PostgreSQL through PgBouncer with a small pool.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "pgbouncer-pool",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "Node and pg, PgBouncer with default_pool_size, each query takes a while",
    trap: "the database is idle: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let pool = scaled(dice.whole("pool", 4, 10), factor);
    let hold_ms = dice.real("hold_ms", 10.0, 30.0);
    let server = Program::ordinary("node", &format!("APP=query POOL=32 HOLD_MS={hold_ms:.3}"));
    let behind = Program::ordinary("postgres", &format!("BOUNCER_POOL={pool}"));
    asking(behind, placed(dice, server, RAMP).proven_by(PROOF))
}
