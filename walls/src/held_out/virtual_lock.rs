//! Virtual threads of Java that take turns at a lock. They wait where no thread of the host does.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "virtual-lock",
    truth: Truth::Wall(&[WallId::A1]),
    construction: "Undertow, virtual threads, a ReentrantLock held during a sleep",
    trap: "no thread of the host waits on the lock: no wall",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let sleep_ms = f64::from(dice.whole("sleep_ms", 5, 10)) / factor;
    let settings = format!("APP=Threads RUNTIME=virtual LIMIT=lock SLEEP_MS={sleep_ms:.0}");
    placed(dice, Program::held_out("java", &settings), RAMP).proven_by(PROOF)
}
