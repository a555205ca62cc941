//! The HTTP server of the JDK with default settings: head and body in separate writes, without
//! TCP_NODELAY.

use super::placed;
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "java-nagle",
    truth: Truth::Wall(&[WallId::A7]),
    construction: "com.sun.net.httpserver with its default settings",
    trap: "everything is idle: looks like a sleeping server",
    proof: Proof::Lifts(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = dice.whole("sleep_ms", 1, 4);
    let connections = dice.whole("connections", 4, 12);
    let nodelay = factor > 1.0;
    let settings = format!("APP=Pool THREADS=16 SLEEP_MS={sleep_ms} NODELAY={nodelay}");
    let load = format!("load {{url}} -c {connections} -d 3s");
    placed(dice, Program::ordinary("java", &settings), &load)
}
