//! Vert.x with a heap that is hardly larger than its live data: the collector stops it.

use crate::dice::Dice;
use crate::ordinary::apart;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "vertx-heap",
    truth: Truth::Wall(&[WallId::A5]),
    construction: "Vert.x, serial collector, a heap of which most is kept",
    trap: "one event loop that is busy in bursts: looks like one hot thread",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let kept_mb = dice.whole("kept_mb", 120, 180);
    let room_mb = f64::from(dice.whole("room_mb", 40, 60)) * factor;
    let heap_mb = f64::from(kept_mb) + room_mb.min(2000.0);
    let settings = format!("APP=Loop KEPT_MB={kept_mb} HEAP_MB={heap_mb:.0}");
    apart(dice, Program::held_out("java", &settings), "load {url} -R 300 -c 16 -d 6s")
}
