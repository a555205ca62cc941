//! A lock that only some of the requests take.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "lock-class",
    truth: Truth::Wall(&[WallId::A1]),
    construction: "one request of twenty takes a lock that is held while sleeping",
    trap: "most requests are fast, so the aggregate shape is soft",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let lock_ms = dice.real("lock_ms", 8.0, 20.0);
    let connections = dice.whole("connections", 24, 48);
    let server = format!("--workers 64 --lock {:.3}ms --lock-path /slow", lock_ms / factor);
    let client = format!("load {{url}} -i {{file}} -c {connections} -d 3s");
    let mut setup = Setup::new(&server, &client);
    let fast = "{\"url\":\"/fast\",\"weight\":19}";
    let slow = "{\"url\":\"/slow\",\"weight\":1}";
    setup.client.file = Some(format!("{fast}\n{slow}\n"));
    setup
}
