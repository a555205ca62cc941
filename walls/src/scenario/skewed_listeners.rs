//! Two listeners that share a port, and connections that all hash to one of them.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "skewed-listeners",
    truth: Truth::Wall(&[WallId::K14]),
    construction: "two SO_REUSEPORT workers, source ports chosen so that all connections reach one",
    trap: "the mean worker is half idle",
    proof: Proof::Lifts(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let spin_us = dice.whole("spin_us", 500, 1500);
    let connections = dice.whole("connections", 8, 16);
    let client = format!("load {{url}} -c {connections} -d 3s");
    let mut setup = Setup::new(&format!("--listeners 2 --spin {spin_us}us"), &client);
    setup.server.cpus = "0,1";
    setup.client.allowance.weight = Some(32 * 1024);
    setup.skew = Some(if factor > 10.0 { 0.5 } else { 1.0 });
    setup
}
