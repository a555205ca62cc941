//! Undertow with a limit of requests at once: 503 at once, without a header that explains it.

use crate::dice::Dice;
use crate::ordinary::{placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "undertow-refuse",
    truth: Truth::Wall(&[WallId::A4]),
    construction: "Undertow, RequestLimitingHandler without a queue: 503 above a number at once",
    trap: "refusing keeps a CPU busy: the CPU is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let slots = scaled(dice.whole("slots", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("APP=Threads LIMIT=requests SLOTS={slots} SLEEP_MS={sleep_ms:.0}");
    placed(dice, Program::held_out("java", &settings), "load {url} -c 32 -d 4s")
}
