//! More work than all CPUs of the host can do.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "server-cpus",
    truth: Truth::Wall(&[WallId::S1]),
    construction: "server workers burn CPU on all CPUs of the host",
    trap: "utilisation alone is no wall: a queue has to agree",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let spin_us = dice.whole("spin_us", 1000, 3000);
    let connections = dice.whole("connections", 16, 40);
    let server = format!("--workers 8 --spin {:.1}us", f64::from(spin_us) / factor);
    let mut setup = Setup::new(&server, &format!("load {{url}} -c {connections} -d 3s"));
    setup.server.cpus = "0,1";
    // The generator shares a CPU with the server and must not be the one that waits.
    setup.client.allowance.weight = Some(32 * 1024);
    setup
}
