//! Apache with processes: each serves one connection as long as it is kept alive.

use super::{PROOF, RAMP, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "apache-prefork",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Apache with mpm_prefork, keep-alive, MaxRequestWorkers and PHP, a page that \
        sleeps",
    trap: "further connections stay in the accept queue: looks like a short backlog",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let workers = scaled(dice.whole("workers", 6, 12), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("MPM=prefork WORKERS={workers} SLEEP_MS={sleep_ms}");
    placed(dice, Program::ordinary("apache", &settings), RAMP).proven_by(PROOF)
}
