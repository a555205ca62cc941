//! nginx in a container with a CPU quota, compressing.

use super::{PROOF, RAMP, placed};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "nginx-quota",
    truth: Truth::Wall(&[WallId::S3]),
    construction: "nginx with gzip in a group with a CPU quota",
    trap: "the host is nearly idle: the client is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let quota = dice.real("quota", 0.1, 0.25) * factor;
    let mut server = Program::ordinary("nginx", "CONFIG=gzip");
    server.allowance.quota = Some(quota);
    let zipped = |load: &str| format!("{load} -H Accept-Encoding:gzip");
    placed(dice, server, &zipped(RAMP)).proven_by(&zipped(PROOF))
}
