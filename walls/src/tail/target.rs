//! One slow target of a mix.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::Setup;
use model::tail::TailCause;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-target",
    truth: Truth::Tail(&[TailCause::Target]),
    construction: "a few of a hundred requests take a lock, which is held while sleeping",
    trap: "the host is idle, and all connections have slow requests",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = dice.whole("rate", 200, 400);
    let lock_ms = dice.real("lock_ms", 10.0, 25.0) / factor;
    let weight = dice.whole("weight", 2, 4);
    let server = format!("--workers 32 --lock {lock_ms:.3}ms --lock-path /slow");
    let client = format!("load {{url}} -i {{file}} -c 64 -R {rate} --arrivals poisson -d 8s");
    let mut setup = Setup::new(&server, &client);
    let fast = format!("{{\"url\":\"/fast\",\"weight\":{}}}", 100 - weight);
    let slow = format!("{{\"url\":\"/slow\",\"weight\":{weight}}}");
    setup.client.file = Some(format!("{fast}\n{slow}\n"));
    setup
}
