//! Actix Web that appends to a journal, on a disk with few writes per second.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "actix-sync",
    truth: Truth::Wall(&[WallId::A6]),
    construction: "Actix Web, a line and an fdatasync per request in web::block, few writes a \
        second",
    trap: "event loops read everything and idle: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let writes = scaled(dice.whole("writes", 120, 300), factor);
    let mut server = Program::held_out("actix", "APP=sync THREADS=8");
    server.allowance.writes = Some(writes);
    placed(dice, server, RAMP).proven_by(PROOF)
}
