//! The link of the server is full.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, Setup, Shape, full_link};
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
    full_link(dice, factor, |filter| Shape::Sent(Host::Server, filter))
}
