//! A pool of workers that are blocked while they serve: k workers of s seconds each serve k/s.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "pool",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "a pool of workers that sleep in each request",
    trap: "idle workers sleep in futexes: looks like a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = dice.whole("workers", 4, 12);
    let sleep_ms = dice.real("sleep_ms", 8.0, 25.0);
    let server = format!("--workers {workers} --sleep {:.4}ms", sleep_ms / factor);
    Setup::new(&server, "ramp {url} -c 2..32*2 -d 1.5s --warmup 300ms")
        .proven_by("load {url} -c 32 -d 2s")
}
