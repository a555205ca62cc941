//! Gin with a limiter that lets requests wait for their turn.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "gin-wait",
    truth: Truth::Wall(&[WallId::A4]),
    construction: "Gin, x/time/rate, Limiter.Wait in each request",
    trap: "rate flat and all idle: looks like a pool or a lock",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let settings = format!("APP=wait RATE={rate:.0}");
    placed(dice, Program::held_out("go", &settings), RAMP).proven_by(PROOF)
}
