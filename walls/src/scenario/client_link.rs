//! The link of the client is full.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Host, Setup, Shape, full_link};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "client-link",
    truth: Truth::Wall(&[WallId::C5]),
    construction: "token bucket filter on what the client receives, large bodies",
    trap: "nothing on the server tells; loss on the path is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    full_link(dice, factor, |filter| Shape::Received(Host::Client, filter))
}
