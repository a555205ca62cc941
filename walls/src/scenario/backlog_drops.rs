//! A per-CPU backlog that is too short for bursts of packets.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Receive, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "backlog-drops",
    truth: Truth::Wall(&[WallId::K5]),
    construction: "netdev_max_backlog of a few packets, large bodies, receive packet steering",
    trap: "only retransmits are seen",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let packets = f64::from(dice.whole("packets", 10, 20)) * factor;
    let body_bytes = dice.whole("body_bytes", 40_000, 60_000);
    let server = format!("--workers 16 --body {body_bytes}");
    let mut setup = Setup::new(&server, "load {url} -c 16 -d 3s");
    setup.receive = Receive::Backlog;
    setup.backlog_packets = Some(packets as u32);
    setup
}
