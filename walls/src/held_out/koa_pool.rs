//! Koa with a pool of connections to MariaDB, which could serve more of them.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, asking, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "koa-pool",
    truth: Truth::Wall(&[WallId::A3, WallId::A2]),
    construction: "Koa and mysql2, connectionLimit, each query takes a while",
    trap: "all is idle and nothing waits unread: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let pool = scaled(dice.whole("pool", 4, 10), factor);
    let hold_ms = dice.real("hold_ms", 10.0, 25.0);
    let settings = format!("APP=database QUERY=sleep POOL={pool} HOLD_MS={hold_ms}");
    let server = Program::held_out("node", &settings);
    let behind = Program::held_out("mariadb", "");
    asking(behind, placed(dice, server, RAMP).proven_by(PROOF))
}
