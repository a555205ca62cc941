//! nginx that writes its access log to a pipe, which a slow collector reads.

use super::{PROOF, RAMP, placed};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "nginx-log",
    truth: Truth::Wall(&[WallId::A10]),
    construction: "nginx, access_log to a pipe whose reader takes a number of lines a second",
    trap: "one thread waits and all is idle: looks like a lock or a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let lines = f64::from(dice.whole("lines", 30, 80) * 10) * factor;
    let settings = format!("CONFIG=log LINES={lines:.0}");
    placed(dice, Program::ordinary("nginx", &settings), RAMP).proven_by(PROOF)
}
