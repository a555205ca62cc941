//! A downstream service with few workers.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "downstream-pool",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "server asks a second server that has a pool of sleeping workers",
    trap: "all idle, nothing throttled: looks like a pool of the server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = dice.whole("workers", 3, 6);
    let sleep_ms = dice.real("sleep_ms", 8.0, 20.0);
    let client = "ramp {url} -c 2..32*2 -d 1.5s --warmup 300ms";
    let mut setup = Setup::new("--workers 48", client).proven_by("load {url} -c 32 -d 2s");
    let downstream = format!("--workers {workers} --sleep {:.3}ms", sleep_ms / factor);
    setup.downstream = Some(Program::stage(&downstream));
    setup
}
