//! Koa and MariaDB: transactions that wait for the lock of one row.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, asking, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "koa-row",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "Koa and mysql2, each request updates one row in a transaction that takes a \
        while",
    trap: "all is idle on both: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let hold_ms = dice.real("hold_ms", 4.0, 9.0) / factor;
    let settings = format!("APP=database QUERY=row POOL=16 HOLD_MS={hold_ms:.3}");
    let server = Program::held_out("node", &settings);
    let behind = Program::held_out("mariadb", "");
    asking(behind, placed(dice, server, RAMP).proven_by(PROOF))
}
