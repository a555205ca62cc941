//! Yaws whose pages all call one process, which takes one call at a time: a section that serialises
//! all requests, or a pool of one worker that waits.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "yaws-process",
    truth: Truth::Wall(&[WallId::A1, WallId::A2]),
    construction: "Yaws, a gen_server that sleeps in each call",
    trap: "processes of the runtime wait where no thread does: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = f64::from(dice.whole("sleep_ms", 5, 10)) / factor;
    let settings = format!("APP=yaws SLEEP_MS={sleep_ms:.0}");
    placed(dice, Program::held_out("erlang", &settings), RAMP).proven_by(PROOF)
}
