//! Computing threads of one interpreter: its lock lets one run at a time, so the process can use
//! only one CPU.

use super::{PROOF, RAMP, apart};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "python-gil",
    truth: Truth::Wall(&[WallId::A1, WallId::S2]),
    construction: "gunicorn and Flask, gthread workers that compute, two CPUs to run on",
    trap: "no thread is hot and a CPU is idle: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rounds = f64::from(dice.whole("rounds", 40, 90) * 1000) / factor;
    let settings = format!("APP=gil WORKERS=8 ROUNDS={rounds:.0}");
    let mut server = Program::ordinary("python", &settings);
    server.cpus = "0-1";
    apart(dice, server, RAMP).proven_by(PROOF)
}
