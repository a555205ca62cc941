//! etcd on a disk with few writes per second. It syncs its log before it answers a put.

use crate::dice::Dice;
use crate::ordinary::{PROOF, RAMP, placed, scaled};
use crate::proof::{Measure, Proof};
use crate::scenario::{Scenario, Truth};
use crate::setup::{Program, Setup};
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "etcd-commit",
    truth: Truth::Wall(&[WallId::A6]),
    construction: "etcd, puts over its HTTP gateway, few writes a second",
    trap: "a runtime whose threads idle: looks like a sleeping server",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let writes = scaled(dice.whole("writes", 60, 150), factor);
    let mut server = Program::held_out("etcd", "");
    server.allowance.writes = Some(writes);
    let put = |load: &str| {
        let load = load.replace("{url}", "{url}v3/kv/put");
        format!(r#"{load} -b {{"key":"Zm9v","value":"YmFy"}}"#)
    };
    placed(dice, server, &put(RAMP)).proven_by(&put(PROOF))
}
