//! A CPU quota on the control group of the server.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "quota",
    truth: Truth::Wall(&[WallId::S3]),
    construction: "CPU quota on the group of the server",
    trap: "the host is nearly idle: the client is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let quota = dice.real("quota", 0.15, 0.35);
    let spin_us = dice.whole("spin_us", 200, 800);
    let connections = dice.whole("connections", 12, 32);
    let client = format!("load {{url}} -c {connections} -d 3s");
    let mut setup = Setup::new(&format!("--workers 4 --spin {spin_us}us"), &client);
    setup.server.allowance.quota = Some(quota * factor);
    setup
}
