//! Bursts of arrivals, each more than the server can do at once.

use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::Setup;
use crate::spells::{Spell, Spells};
use model::tail::TailCause;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tail-bursts",
    truth: Truth::Tail(&[TailCause::Arrivals, TailCause::RunQueue]),
    construction: "the rate jumps to more than the capacity of the CPU at random instants",
    trap: "over the window most of the CPU is idle",
    proof: Proof::Lifts(Measure::LatencyP99),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let base = dice.whole("base", 150, 200);
    let peak = f64::from(dice.whole("peak", 1500, 2500));
    let spells = Spells::drawn(dice, (1.0, 3.0), (0.03, 0.06));
    let peak = f64::from(base) + (peak - f64::from(base)) / factor;
    let (mut rates, mut at_s) = (String::from("0,150\n"), 0.0);
    for Spell { rest, last } in (0..10).map(|number| spells.nth(number)) {
        let from_s = at_s + rest.as_secs_f64();
        at_s = from_s + last.as_secs_f64();
        rates += &format!("{from_s:.3},{peak}\n{at_s:.3},{base}\n");
    }
    let mut setup = Setup::new("--workers 8 --spin 1ms", "load {url} -c 256 --replay {file}");
    setup.client.file = Some(rates);
    setup
}
