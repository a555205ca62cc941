//! Mojolicious with processes: each serves one connection as long as it is kept alive.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "hypnotoad-workers",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Mojolicious and hypnotoad, workers with one client each, a page that sleeps",
    trap: "further connections stay in the accept queue: looks like a short backlog",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = scaled(dice.whole("workers", 4, 8), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("WORKERS={workers} SLEEP_MS={sleep_ms}");
    placed(dice, Program::held_out("hypnotoad", &settings), RAMP).proven_by(PROOF)
}
