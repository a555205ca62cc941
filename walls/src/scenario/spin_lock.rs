//! A spin lock.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{RAMP, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "spin-lock",
    truth: Truth::Wall(&[WallId::S7]),
    construction: "workers on two CPUs burn CPU under a lock that the others spin for",
    trap: "all CPUs are busy: more of them seem to be the cure",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let spin_us = dice.real("spin_us", 300.0, 600.0) / factor;
    let mut setup =
        Setup::new(&format!("--workers 16 --sleep 4ms --spin-lock {spin_us:.0}us"), RAMP)
            .proven_by("load {url} -c 16 -d 2s");
    setup.server.cpus = "0-1";
    setup
}
