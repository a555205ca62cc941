//! The HTTP server of Erlang with few clients: 503 to every further connection, which it closes.

use crate::dice::Dice;
use crate::ordinary::{placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "inets-refuse",
    truth: Truth::Wall(&[WallId::A4]),
    construction: "Erlang inets httpd, max_clients below the number of connections",
    trap: "each refusal costs a connection: looks like churn",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let slots = scaled(dice.whole("slots", 4, 10), factor);
    let sleep_ms = dice.whole("sleep_ms", 10, 30);
    let settings = format!("APP=inets SLOTS={slots} SLEEP_MS={sleep_ms}");
    placed(dice, Program::held_out("erlang", &settings), "load {url} -c 32 -d 4s")
}
