//! Packets that are expensive for the kernel, whose interrupts all go to one CPU of two.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, RAMP, Receive, Setup, Shape};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "interrupts",
    truth: Truth::Wall(&[WallId::K4]),
    construction: "thousands of filters on the device of the server, the interrupts of all its \
        queues on one of two CPUs, no packet steering",
    trap: "the threads of the server are idle: the path is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let filters = f64::from(dice.whole("filters", 15, 30) * 1000) / factor;
    let mut setup = Setup::new("--workers 8", RAMP).proven_by("load {url} -c 16 -d 2s");
    setup.server.cpus = "0-1";
    setup.receive = Receive::Interrupts;
    setup.shapes = vec![Shape::Filtered(Host::Server, filters as u32)];
    setup
}
