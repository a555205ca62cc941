//! A generator that runs out of source ports.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "client-ports",
    truth: Truth::Wall(&[WallId::C7]),
    construction: "a range of few hundred ports on the client, which closes first after each \
        request",
    trap: "connects fail: the server is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let ports = f64::from(dice.whole("ports", 150, 300)) * factor;
    let client = "load {url} -c 8 -d 3s --warmup 0 --requests-per-conn 1";
    let mut setup = Setup::new("--workers 4", client);
    let range = format!("\"40000 {:.0}\"", 39_999.0 + ports);
    setup.sysctls = vec![(Host::Client, "net.ipv4.ip_local_port_range", range)];
    setup
}
