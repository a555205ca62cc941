//! Packets that are expensive for the kernel, all received by the CPU of the generator.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, RAMP, Receive, Setup, Shape};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "client-receive-cpu",
    truth: Truth::Wall(&[WallId::C10]),
    construction: "thousands of filters on the device of the generator, receive packet steering to \
        its CPU",
    trap: "the generator is late, its threads wait for a CPU, and the server is idle",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let filters = f64::from(dice.whole("filters", 15, 30) * 1000) / factor;
    let mut setup = Setup::new("--workers 8", RAMP).proven_by("load {url} -c 16 -d 2s");
    setup.receive = Receive::Backlog;
    setup.shapes = vec![Shape::Filtered(Host::Client, filters as u32)];
    setup
}
