//! A server that commits to SQLite in each request, on a disk with few writes per second. SQLite
//! has one writer at a time, and the others wait for its lock.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "sqlite-commit",
    truth: Truth::Wall(&[WallId::A6, WallId::A1]),
    construction: "gunicorn and Flask, gthread, SQLite with a WAL and synchronous=FULL, few \
        writes a second",
    trap: "threads wait for the lock of the database: looks like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let writes = scaled(dice.whole("writes", 120, 300), factor);
    let mut server = Program::ordinary("python", "APP=commit WORKERS=8");
    server.allowance.writes = Some(writes);
    placed(dice, server, RAMP).proven_by(PROOF)
}
