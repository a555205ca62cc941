//! A server that may open too few descriptors.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "server-files",
    truth: Truth::Wall(&[WallId::K3]),
    construction: "limit of open files on the server, more connections than that",
    trap: "the accept loop spins: one hot thread, accept queue full",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let files = f64::from(dice.whole("files", 40, 80)) * factor;
    let sleep_ms = dice.whole("sleep_ms", 15, 30);
    let server = format!("--thread-per-connection --backlog 64 --sleep {sleep_ms}ms");
    let mut setup = Setup::new(&server, "load {url} -c 200 -d 3s -T 2s");
    setup.server.files = Some(files as u64);
    setup
}
