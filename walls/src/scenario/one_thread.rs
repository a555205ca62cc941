//! One thread that does all the work, on a host with another CPU to spare.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{RAMP, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "one-thread",
    truth: Truth::Wall(&[WallId::S2]),
    construction: "server with one thread that may use two CPUs",
    trap: "the host is half idle: it seems to have headroom",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let spin_us = dice.whole("spin_us", 500, 1500);
    let server = format!("--listeners 1 --spin {:.1}us", f64::from(spin_us) / factor);
    let mut setup = Setup::new(&server, RAMP).proven_by("load {url} -c 16 -d 2s");
    setup.server.cpus = "0,1";
    setup.client.allowance.weight = Some(32 * 1024);
    setup
}
