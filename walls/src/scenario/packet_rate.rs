//! A limit of packets per second, whatever their size.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, RAMP, Setup, Shape};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "packet-rate",
    truth: Truth::Wall(&[WallId::K9, WallId::N4]),
    construction: "token bucket filter on the device of the server that charges each packet 1500 \
        bytes, small bodies",
    trap: "the link is used to a few per cent in bytes",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let packets = f64::from(dice.whole("packets_per_s", 800, 2000)) * factor;
    let mut setup = Setup::new("--workers 8", RAMP).proven_by("load {url} -c 16 -d 2s");
    let rate_kbit = packets * 1500.0 * 8.0 / 1e3;
    let filter = format!("tbf rate {rate_kbit:.0}kbit burst 15000 latency 200ms mpu 1500");
    setup.shapes = vec![Shape::Sent(Host::Server, filter)];
    setup
}
