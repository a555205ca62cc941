//! A downstream service with a CPU quota.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Program, RAMP, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "downstream-quota",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "server asks a second server whose group has a CPU quota",
    trap: "both hosts idle: looks like a pool or a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let quota = dice.real("quota", 0.15, 0.30);
    let spin_us = dice.whole("spin_us", 500, 1500);
    let mut setup = Setup::new("--workers 24", RAMP).proven_by("load {url} -c 16 -d 3s");
    let mut downstream = Program::stage(&format!("--workers 4 --spin {spin_us}us"));
    downstream.allowance.quota = Some(quota * factor);
    setup.downstream = Some(downstream);
    setup
}
