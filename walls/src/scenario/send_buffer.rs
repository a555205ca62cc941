//! A send buffer that is much smaller than an answer.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "send-buffer",
    truth: Truth::Wall(&[WallId::K12]),
    construction: "fixed small SO_SNDBUF on the server, large bodies",
    trap: "each answer takes round trips: looks like a slow path or delayed acknowledgements",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let buffer_bytes = f64::from(dice.whole("buffer_bytes", 6000, 10_000)) * factor;
    let body_bytes = dice.whole("body_bytes", 48_000, 96_000);
    let server = format!("--workers 16 --sndbuf {buffer_bytes:.0} --body {body_bytes}");
    Setup::new(&server, "load {url} -c 8 -d 3s")
}
