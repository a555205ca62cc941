//! Actix Web whose handlers block in the pool that tokio has for that.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "actix-block",
    truth: Truth::Wall(&[WallId::A2]),
    construction: "Actix Web, web::block, worker_max_blocking_threads, a call that sleeps",
    trap: "the event loop reads everything and idles: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let threads = scaled(dice.whole("threads", 4, 10), factor);
    let sleep_ms = dice.real("sleep_ms", 10.0, 30.0);
    let settings = format!("APP=block THREADS={threads} SLEEP_MS={sleep_ms}");
    placed(dice, Program::held_out("actix", &settings), RAMP).proven_by(PROOF)
}
