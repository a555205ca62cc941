//! One lock that every request takes: held for h seconds, it admits 1/h requests per second.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{RAMP, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "lock",
    truth: Truth::Wall(&[WallId::A1]),
    construction: "many workers, and a lock that is held while sleeping",
    trap: "CPUs idle: looks like a pool or a downstream",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = dice.whole("workers", 24, 48);
    let lock_ms = dice.real("lock_ms", 1.0, 4.0);
    let server = format!("--workers {workers} --lock {:.4}ms", lock_ms / factor);
    Setup::new(&server, RAMP).proven_by("load {url} -c 16 -d 2s")
}
