//! Echo with fewer descriptors than connections.

use crate::dice::Dice;
use crate::ordinary::{placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "echo-files",
    truth: Truth::Wall(&[WallId::K3]),
    construction: "Echo with a limit of open files below the number of connections",
    trap: "connections wait in the accept queue: looks like a short backlog",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let files = scaled(dice.whole("files", 35, 45), factor);
    let sleep_ms = dice.real("sleep_ms", 15.0, 30.0);
    let mut server = Program::held_out("go", &format!("APP=sleep SLEEP_MS={sleep_ms}"));
    server.files = Some(u64::from(files));
    placed(dice, server, "load {url} -c 96 -d 3s")
}
