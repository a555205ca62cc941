//! Fastify with its plugin for rates: 429 with the headers `x-ratelimit-*` and `retry-after`.

use crate::dice::Dice;
use crate::ordinary::placed;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "fastify-limit",
    truth: Truth::Wall(&[WallId::A4]),
    construction: "Fastify, @fastify/rate-limit: 429 above a number per second",
    trap: "the rate of responses rises when the limiter works",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let settings = format!("APP=limit RATE={rate:.0}");
    placed(dice, Program::held_out("node", &settings), "load {url} -c 16 -d 5s")
}
