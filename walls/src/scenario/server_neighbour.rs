//! Another program on the CPU of the server.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "server-neighbour",
    truth: Truth::Wall(&[WallId::S6]),
    construction: "busy loop of equal weight on the CPU of the server",
    trap: "the server runs half of the time: it seems to have slack",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let spin_us = dice.whole("spin_us", 500, 1500);
    let weight = dice.whole("weight", 900, 1400);
    let client = "load {url} -c 16 -d 3s";
    let mut setup = Setup::new(&format!("--workers 4 --spin {spin_us}us"), client);
    // More of the limit is more for the server.
    let weight = (f64::from(weight) / factor.powi(2)) as u64;
    setup.actors = vec![Actor::Burner { cpu: 0, weight }];
    setup
}
