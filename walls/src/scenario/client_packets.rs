//! A packet limit on what the client receives, which the user states with --link.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, Setup, Shape};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "client-packets",
    truth: Truth::Wall(&[WallId::C6]),
    construction: "token bucket filter on what the client receives that charges each packet 1500 \
        bytes, --link",
    trap: "the link is used to a few per cent in bytes",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let packets = f64::from(dice.whole("packets_per_s", 800, 2000)) * factor;
    // As many are sent: each request and each response is one packet, with the acknowledgement in
    // it.
    let load = format!("-c 16 --link client=10G,{:.0}pps", packets * 2.0);
    let mut setup = Setup::new("--workers 16", &format!("load {{url}} -d 3s {load}"));
    let rate_kbit = packets * 1500.0 * 8.0 / 1e3;
    let filter = format!("tbf rate {rate_kbit:.0}kbit burst 15000 latency 200ms mpu 1500");
    setup.shapes = vec![Shape::Received(Host::Client, filter)];
    setup
}
