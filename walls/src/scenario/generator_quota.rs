//! A CPU quota on the generator.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "generator-quota",
    truth: Truth::Wall(&[WallId::C1]),
    construction: "CPU quota on the group of the generator, fast server",
    trap: "server and hosts idle: the network is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let quota = dice.real("quota", 0.05, 0.10);
    let connections = dice.whole("connections", 24, 64);
    let mut setup = Setup::new("--threads 1", &format!("load {{url}} -c {connections} -d 3s"));
    setup.server.name = "target-sink";
    setup.client.allowance.quota = Some(quota * factor);
    setup
}
