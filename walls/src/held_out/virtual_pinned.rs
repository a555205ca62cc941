//! Virtual threads of Java that keep their carrier while they sleep, because they are in a
//! synchronized block. Each has a monitor of its own, so the carriers are the pool.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "virtual-pinned",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Undertow, virtual threads pinned by synchronized during a sleep, few carriers",
    trap: "thousands of threads are allowed: no pool is seen",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let carriers = scaled(dice.whole("carriers", 3, 8), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let pinned = format!("APP=Threads RUNTIME=virtual LIMIT=pinned CARRIERS={carriers}");
    let settings = format!("{pinned} SLEEP_MS={sleep_ms:.0}");
    placed(dice, Program::held_out("java", &settings), RAMP).proven_by(PROOF)
}
