//! Node that computes in its one thread, with two CPUs to run on.

use super::{PROOF, RAMP, apart};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "node-cpu",
    truth: Truth::Wall(&[WallId::S2]),
    construction: "Express, a handler that hashes, one process on two CPUs",
    trap: "the host is half idle: it seems to have headroom",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rounds = f64::from(dice.whole("rounds", 2, 6) * 1000) / factor;
    let mut server = Program::ordinary("node", &format!("APP=hash ROUNDS={rounds:.0}"));
    server.cpus = "0-1";
    apart(dice, server, RAMP).proven_by(PROOF)
}
