//! A link that drops packets.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "packet-loss",
    truth: Truth::Wall(&[WallId::N2]),
    construction: "a line with a delay that loses a few per cent of the packets",
    trap: "everything is idle: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let lost = dice.real("lost", 0.015, 0.04) / factor;
    let one_way_ms = dice.real("one_way_ms", 1.0, 3.0);
    let mut setup = Setup::new("--workers 8", "load {url} -c 16 -d 4s");
    setup.one_way = Some(Duration::from_secs_f64(one_way_ms / 1e3));
    setup.lost = lost;
    setup
}
