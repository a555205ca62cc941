//! Unicorn with a log that is read slowly.

use crate::dice::Dice;
use crate::ordinary::{RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "unicorn-log",
    truth: Truth::Wall(&[WallId::A10]),
    construction: "Unicorn, a log to a pipe whose reader takes a number of lines a second",
    trap: "workers wait and all is idle: looks like a pool",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let lines = f64::from(dice.whole("lines", 15, 40) * 10) * factor;
    let settings = format!("APP=unicorn WORKERS=4 SLEEP_MS=0 LINES={lines:.0}");
    // The pipe takes the first hundreds of lines at once.
    let proof = "load {url} -c 32 -d 3s --warmup 3s";
    placed(dice, Program::held_out("ruby", &settings), RAMP).proven_by(proof)
}
