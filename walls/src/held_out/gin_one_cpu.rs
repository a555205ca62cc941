//! Gin that runs on one thread at a time, on two CPUs.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, apart};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "gin-one-cpu",
    truth: Truth::Wall(&[WallId::S2]),
    construction: "Gin, GOMAXPROCS=1, a handler that hashes, two CPUs",
    trap: "the host is half idle: it seems to have headroom",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rounds = f64::from(dice.whole("rounds", 10, 30) * 1000) / factor;
    let settings = format!("APP=compute GOMAXPROCS=1 ROUNDS={rounds:.0}");
    let mut server = Program::held_out("go", &settings);
    server.cpus = "0-1";
    apart(dice, server, RAMP).proven_by(PROOF)
}
