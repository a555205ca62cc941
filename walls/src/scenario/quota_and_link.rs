//! A CPU quota and a full link at the same rate.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, Setup, Shape};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "quota-and-link",
    truth: Truth::Both(WallId::S3, WallId::K8),
    construction: "CPU quota of the server and the filter on its link tuned to the same rate",
    trap: "any single wall is wrong",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate = f64::from(dice.whole("rate", 100, 180)) * factor;
    // 16 kB are sent in 12 segments with 66 bytes of headers each.
    let link_mbit = rate * (16_000.0 + 160.0 + 12.0 * 66.0) * 8.0 / 1e6;
    let mut setup = Setup::new("--workers 8 --spin 2ms --body 16000", "load {url} -c 24 -d 4s");
    // On top of the work each request costs some 60 us.
    setup.server.allowance.quota = Some(rate * 2.06e-3);
    let filter = format!("tbf rate {link_mbit:.3}mbit burst 20000 latency 100ms");
    setup.shapes = vec![Shape::Sent(Host::Server, filter)];
    setup
}
