//! aiohttp whose client has few connections to a service that has no limit of its own. They are a
//! pool, and what a request in it waits for is the service.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, asking, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "aiohttp-sockets",
    truth: Truth::Wall(&[WallId::A3, WallId::A2]),
    construction: "aiohttp, TCPConnector with a limit, behind it a service that waits",
    trap: "one thread in its event loop, nothing busy: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sockets = scaled(dice.whole("sockets", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 25.0);
    let settings = format!("APP=asynchronous LIMIT=sockets SLOTS={sockets}");
    let behind = Program::held_out("node", &format!("APP=wait SLEEP_MS={sleep_ms}"));
    let server = Program::held_out("python", &settings);
    asking(behind, placed(dice, server, RAMP).proven_by(PROOF))
}
