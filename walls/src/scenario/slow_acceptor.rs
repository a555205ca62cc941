//! An acceptor that is slower than the arrival of connections.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "slow-acceptor",
    truth: Truth::Wall(&[WallId::K1]),
    construction: "short backlog and an acceptor that sleeps, a connection for each request",
    trap: "a longer backlog would fix nothing",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let delay_ms = dice.real("accept_delay_ms", 3.0, 8.0) / factor;
    let backlog = dice.whole("backlog", 4, 12);
    let server = format!("--workers 4 --backlog {backlog} --accept-delay {delay_ms:.3}ms");
    Setup::new(&server, "load {url} -c 64 -d 4s -H Connection:close")
}
