//! A server that reads more of a file than fits into its memory: the kernel evicts pages and reads
//! them from disk again. Its threads wait for both.

use super::{PROOF, RAMP, placed};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "python-memory",
    truth: Truth::Wall(&[WallId::A9, WallId::A6]),
    construction: "gunicorn and Flask, gthread, random reads of a file, a memory limit of a \
        third of it",
    trap: "the disk is busy: looks like storage alone",
    proof: Proof::Lifts(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let memory_mb = f64::from(dice.whole("memory_mb", 90, 140)) * factor;
    let mut server = Program::ordinary("python", "APP=read WORKERS=8 FILE_MB=400");
    server.allowance.memory_mb = Some(memory_mb.min(4000.0) as u32);
    placed(dice, server, RAMP).proven_by(PROOF)
}
