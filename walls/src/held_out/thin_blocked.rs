//! Thin with an application that blocks its event loop: a pool of one worker that waits, or a
//! section that serialises all requests.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "thin-blocked",
    truth: Truth::Wall(&[WallId::A2, WallId::A1]),
    construction: "Thin, one EventMachine loop, a Rack application that sleeps",
    trap: "one thread sleeps and all is idle: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = dice.real("sleep_ms", 3.0, 9.0) / factor;
    let settings = format!("APP=thin SLEEP_MS={sleep_ms:.3}");
    placed(dice, Program::held_out("ruby", &settings), RAMP).proven_by(PROOF)
}
