//! Another program on the CPU of the generator.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "generator-neighbour",
    truth: Truth::Wall(&[WallId::C11]),
    construction: "generator pinned to a CPU with a busy loop of greater weight",
    trap: "the generator runs little: it seems to have slack",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let share = dice.real("share", 0.10, 0.20) * factor;
    let connections = dice.whole("connections", 24, 64);
    let mut setup = Setup::new("--threads 1", &format!("load {{url}} -c {connections} -d 3s"));
    setup.server.name = "target-sink";
    let weight = (1024.0 * (1.0 / share - 1.0)) as u64;
    setup.actors = vec![Actor::Burner { cpu: 1, weight }];
    setup
}
