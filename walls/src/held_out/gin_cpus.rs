//! Gin that computes on all CPUs of its host, one of which is also that of the generator.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, apart};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "gin-cpus",
    truth: Truth::Wall(&[WallId::S1]),
    construction: "Gin, a handler that hashes, on all CPUs of the host",
    trap: "utilisation alone is no wall: a queue has to agree",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rounds = f64::from(dice.whole("rounds", 10, 30) * 1000) / factor;
    let mut server = Program::held_out("go", &format!("APP=compute ROUNDS={rounds:.0}"));
    server.cpus = "0-1";
    let mut setup = apart(dice, server, RAMP).proven_by(PROOF);
    // The generator must not be the one that waits.
    setup.client.allowance.weight = Some(32 * 1024);
    setup
}
