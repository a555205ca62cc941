//! Vert.x over HTTP/2 that ends a connection after few cancelled streams.

use crate::dice::Dice;
use crate::ordinary::placed;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "vertx-defence",
    truth: Truth::Wall(&[WallId::A14]),
    construction: "Vert.x, HTTP/2, one reset of a stream allowed, some requests that take longer \
                   than their client waits",
    trap: "connections are lost while both hosts idle: the server is called unsteady",
    proof: Proof::Lifts(Measure::Rate),
    set_up,
};

/// Requests of a connection start together. Those that are late are cancelled together, shortly
/// before the second round of the others would be answered: a connection that ends then has had one
/// round of responses.
fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let odd_each = dice.whole("odd_each", 10, 12);
    let sleep_ms = dice.whole("sleep_ms", 12, 16) * 100;
    let timeout_ms = sleep_ms * 19 / 10;
    let settings =
        format!("APP=Loop SLEEP_MS={sleep_ms} ODD_EACH={odd_each} ODD_MS=60000 RESETS={factor:.0}");
    let load = format!("load {{url}} --http2-prior-knowledge -c 8 -p 32 -T {timeout_ms}ms -d 12s");
    placed(dice, Program::held_out("java", &settings), &load)
}
