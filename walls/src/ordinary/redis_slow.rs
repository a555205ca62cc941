//! Node that calls Redis, whose one thread runs one command at a time.

use super::{PROOF, RAMP, asking, placed};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "redis-slow",
    truth: Truth::Wall(&[WallId::A3]),
    construction: "Node and ioredis, a command that holds the one thread of Redis",
    trap: "one connection to Redis carries everything: it seems idle",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let slow_ms = dice.real("slow_ms", 2.0, 6.0) / factor;
    let server = Program::ordinary("node", &format!("APP=redis SLOW_MS={slow_ms:.3}"));
    asking(Program::ordinary("redis", ""), placed(dice, server, RAMP).proven_by(PROOF))
}
