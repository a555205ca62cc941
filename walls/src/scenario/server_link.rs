//! The link of the server is full.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, RAMP, Setup, Shape};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "server-link",
    truth: Truth::Wall(&[WallId::K8]),
    construction: "token bucket filter on the device of the server, large bodies",
    trap: "retransmits rise: loss on the path is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let rate_mbit = dice.real("rate_mbit", 15.0, 40.0) * factor;
    let body_bytes = dice.whole("body_bytes", 12_000, 32_000);
    let server = format!("--workers 16 --body {body_bytes}");
    let mut setup = Setup::new(&server, RAMP).proven_by("load {url} -c 16 -d 2s");
    let filter = format!("tbf rate {rate_mbit:.2}mbit burst 20000 latency 100ms");
    setup.shapes = vec![Shape::Sent(Host::Server, filter)];
    setup
}
