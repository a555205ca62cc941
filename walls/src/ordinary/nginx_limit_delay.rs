//! nginx with limit_req and room for waiting requests.

use super::{PROOF, RAMP, placed};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "nginx-limit-delay",
    truth: Truth::Wall(&[WallId::A4]),
    construction: "nginx, limit_req with a burst: requests wait for their turn",
    trap: "rate flat and all idle: looks like a pool or a shaped link",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 20, 60) * 10) * factor;
    let settings = format!("CONFIG=limit RATE={rate:.0} QUEUE=burst=1000");
    placed(dice, Program::ordinary("nginx", &settings), RAMP).proven_by(PROOF)
}
