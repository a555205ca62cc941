//! Tomcat with a short acceptCount and few connections: further ones overflow the accept queue.

use super::{placed, scaled};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tomcat-accept",
    truth: Truth::Wall(&[WallId::K1]),
    construction: "Tomcat, maxConnections and a short acceptCount, a connection for each request",
    trap: "threads wait and all is idle: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 3, 6), factor);
    let accept = dice.whole("accept", 1, 3);
    let settings = format!("THREADS={threads} ACCEPT={accept} CONNECTIONS={threads} SLEEP_MS=20");
    let load = "load {url} -c 48 -d 4s --requests-per-conn 1";
    placed(dice, Program::ordinary("tomcat", &settings), load)
}
