//! nginx with fewer descriptors than connections.

use super::{placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "nginx-files",
    truth: Truth::Wall(&[WallId::K3]),
    construction: "nginx, worker_rlimit_nofile below the number of connections",
    trap: "connections wait in the accept queue: looks like a short backlog",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let files = scaled(dice.whole("files", 24, 40), factor);
    let settings = format!("CONFIG=files FILES={files}");
    placed(
        dice,
        Program::ordinary("nginx", &settings),
        "load {url} -c 64 -d 3s --requests-per-conn 1",
    )
}
