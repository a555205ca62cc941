//! A connection tracking table with fewer entries than the load has connections.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "tracking-table",
    truth: Truth::Wall(&[WallId::K10]),
    construction: "nf_conntrack_max of a few dozen, more connections than that",
    trap: "SYNs get lost: the accept queue or the path is blamed",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let entries = f64::from(dice.whole("entries", 24, 40)) * factor;
    let sleep_ms = dice.real("sleep_ms", 10.0, 25.0) * dice.patience;
    let server = format!("--thread-per-connection --sleep {sleep_ms}ms");
    let mut setup = Setup::new(&server, "load {url} -c 96 -d 4s");
    // The probe's connection and that of the first request have entries too.
    setup.tracked = Some(entries as u32 + 4);
    setup
}
