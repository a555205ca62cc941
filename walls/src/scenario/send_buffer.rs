//! A send buffer that is much smaller than the bandwidth-delay product.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "send-buffer",
    truth: Truth::Wall(&[WallId::K12]),
    construction: "fixed small SO_SNDBUF on the server, large bodies, a line with a delay",
    trap: "each response takes many round trips: looks like a slow path",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let buffer_bytes = f64::from(dice.whole("buffer_bytes", 12_000, 24_000)) * factor;
    let body_bytes = dice.whole("body_bytes", 100_000, 160_000);
    let one_way_ms = dice.real("one_way_ms", 4.0, 10.0);
    let server = format!("--workers 16 --sndbuf {buffer_bytes:.0} --body {body_bytes}");
    let mut setup = Setup::new(&server, "load {url} -c 6 -d 4s --warmup 500ms");
    setup.one_way = Some(Duration::from_secs_f64(one_way_ms / 1e3));
    setup
}
