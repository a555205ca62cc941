//! Unicorn whose processes each append to a journal, on a disk with few writes per second.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "unicorn-sync",
    truth: Truth::Wall(&[WallId::A6]),
    construction: "Unicorn, a line and an fsync per request, few writes a second",
    trap: "processes wait and connections are closed: looks like a pool or churn",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let writes = scaled(dice.whole("writes", 120, 300), factor);
    let mut server = Program::held_out("ruby", "APP=unicorn WORKERS=8 SLEEP_MS=0 SYNC=yes");
    server.allowance.writes = Some(writes);
    placed(dice, server, RAMP).proven_by(PROOF)
}
