//! Requests that wait until they are on a disk with few writes per second.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "storage",
    truth: Truth::Wall(&[WallId::A6]),
    construction: "each request is written to a disk with few writes a second",
    trap: "threads sleep in each request: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let writes = f64::from(dice.whole("writes", 150, 400)) * factor;
    let mut setup = Setup::new(
        "--workers 16 --fsync {files}/log",
        "ramp {url} -c 2..32*2 -d 1.5s --warmup 300ms",
    )
    .proven_by("load {url} -c 32 -d 2s");
    setup.server.allowance.writes = Some(writes as u32);
    setup
}
