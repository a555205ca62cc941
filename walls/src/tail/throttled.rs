//! A CPU quota that only bursts of requests reach.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::Setup;
use model::tail::TailCause;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-throttled",
    truth: Truth::Tail(&[TailCause::Throttled]),
    construction: "a CPU quota a deviation above the mean use of Poisson arrivals in a period",
    trap: "on average the quota is far from used up",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 180, 260));
    let deviations = dice.real("deviations", 0.6, 1.1);
    // Requests of a period of 100 ms, and the CPU time of each with what the kernel adds.
    let (due, cpu_ms) = (rate / 10.0, 1.05);
    let quota = cpu_ms * (due + deviations * due.sqrt()) / 100.0;
    let client = format!("load {{url}} -c 64 -R {rate} --arrivals poisson -d 12s");
    let mut setup = Setup::new("--workers 8 --spin 1ms", &client);
    setup.server.allowance.quota = Some(quota * factor);
    setup
}
