//! Two small writes for each response, and Nagle's algorithm waits for a delayed acknowledgement.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "delayed-ack",
    truth: Truth::Wall(&[WallId::A7]),
    construction: "head and body written apart without TCP_NODELAY",
    trap: "everything is idle: looks like a sleeping server",
    proof: Proof::Lifts(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let body_bytes = dice.whole("body_bytes", 500, 1200);
    let connections = dice.whole("connections", 8, 24);
    let nagle = if factor > 10.0 { "" } else { " --nagle" };
    let server = format!("--workers 32 --sleep 2ms --body {body_bytes}{nagle}");
    Setup::new(&server, &format!("load {{url}} -c {connections} -d 3s"))
}
