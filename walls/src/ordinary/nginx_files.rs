//! nginx with fewer descriptors than connections; each request keeps two.

use super::{asking, placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "nginx-files",
    truth: Truth::Wall(&[WallId::K3]),
    construction: "nginx, worker_rlimit_nofile below the number of connections, as a proxy",
    trap: "connections wait in the accept queue: looks like a short backlog",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let files = scaled(dice.whole("files", 40, 60), factor);
    let sleep_ms = dice.real("sleep_ms", 15.0, 30.0);
    let proxy = Program::ordinary("nginx", &format!("CONFIG=files FILES={files}"));
    let behind = Program::ordinary("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    asking(behind, placed(dice, proxy, "load {url} -c 64 -d 3s"))
}
