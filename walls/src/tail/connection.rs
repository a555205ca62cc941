//! One slow connection.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::Setup;
use model::tail::TailCause;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-connection",
    truth: Truth::Tail(&[TailCause::Connection]),
    construction: "the server sleeps in the requests of one connection",
    trap: "the host is idle, and the other connections are fast",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = dice.whole("rate", 200, 400);
    let sleep_ms = dice.real("sleep_ms", 8.0, 20.0) / factor;
    let number = dice.whole("number", 3, 12);
    let connections = dice.whole("connections", 16, 32);
    let server = format!("--workers 16 --sleep {sleep_ms:.3}ms --sleep-connection {number}");
    let client = format!("load {{url}} -c {connections} -R {rate} --arrivals poisson -d 8s");
    Setup::new(&server, &client)
}
