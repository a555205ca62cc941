//! A link with burst credit that is used up in the middle of the run.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, Setup, Shape};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "burst-credit",
    truth: Truth::Wall(&[WallId::M3, WallId::K8]),
    construction: "token bucket filter with a burst that lasts two seconds",
    trap: "the first seconds look great, the mean names nothing",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate_mbit = dice.real("rate_mbit", 6.0, 12.0) * factor;
    let credit_s = dice.real("credit_s", 1.8, 2.4) * factor;
    // While there is credit, a limiter bounds the rate so that the credit lasts.
    let server = "--workers 64 --body 16000 --limit 300/s --limit-mode delay";
    let mut setup = Setup::new(server, "load {url} -c 32 -d 6s --warmup 300ms");
    let burst = (300.0 * 16_600.0 - rate_mbit * 125_000.0).max(1e6) * (credit_s + 0.3);
    let filter = format!("tbf rate {rate_mbit:.2}mbit burst {burst:.0} latency 100ms");
    setup.shapes = vec![Shape::Sent(Host::Server, filter)];
    setup
}
