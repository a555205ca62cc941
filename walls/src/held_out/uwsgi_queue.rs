//! uWSGI with few processes and a short accept queue, a connection for each request. The processes
//! limit the rate; the queue overflows because they accept no sooner.

use crate::dice::Dice;
use crate::ordinary::{placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "uwsgi-queue",
    truth: Truth::Wall(&[WallId::A2, WallId::K1]),
    construction: "uWSGI, few processes, a short listen queue, a connection for each request",
    trap: "a longer queue would fix nothing",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let processes = scaled(dice.whole("processes", 4, 8), factor);
    let backlog = dice.whole("backlog", 2, 5);
    let settings = format!("PROCESSES={processes} BACKLOG={backlog} SLEEP_MS=20");
    placed(dice, Program::held_out("uwsgi", &settings), "load {url} -c 48 -d 4s")
}
