//! A CPU quota above the control group of the server, as with containers.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{RAMP, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "parent-quota",
    truth: Truth::Wall(&[WallId::S3]),
    construction: "CPU quota on the parent group of the server, none on its own",
    trap: "the own group shows no limit",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let quota = dice.real("quota", 0.15, 0.35);
    let spin_us = dice.whole("spin_us", 200, 800);
    let client = RAMP;
    let proof = "load {url} -c 16 -d 3s";
    let server = format!("--workers 4 --spin {spin_us}us");
    let mut setup = Setup::new(&server, client).proven_by(proof);
    setup.server.allowance.parent_quota = Some(quota * factor);
    setup
}
