//! Node whose transactions wait until PostgreSQL has them on a disk with few writes per second.

use super::{PROOF, RAMP, asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "postgres-commit",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "Node and pg, synchronous_commit on a disk with few writes a second",
    trap: "all is idle on both: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let writes = scaled(dice.whole("writes", 60, 150), factor);
    let server = Program::ordinary("node", "APP=commit POOL=16");
    let mut behind = Program::ordinary("postgres", "");
    behind.allowance.writes = Some(writes);
    asking(behind, placed(dice, server, RAMP).proven_by(PROOF))
}
