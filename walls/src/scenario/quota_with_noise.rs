//! A quota, with unrelated connection attempts on both hosts.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Door, Host, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "quota-with-noise",
    truth: Truth::Wall(&[WallId::S3]),
    construction: "CPU quota on the server; unrelated SYN retries on the client and overflows of \
        an unrelated listener",
    trap: "counters of the namespace say accept queue or loss",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let quota = dice.real("quota", 0.15, 0.35);
    let spin_us = dice.whole("spin_us", 200, 800);
    let client = "load {url} -c 24 -d 3s";
    let mut setup = Setup::new(&format!("--workers 4 --spin {spin_us}us"), client);
    setup.server.allowance.quota = Some(quota * factor);
    let knocker = |from, to| Actor::Knocker { from, rate: 15.0, burst: 2, to };
    setup.actors =
        vec![knocker(Host::Client, Door::Unused), knocker(Host::Stranger, Door::Neglected)];
    setup
}
