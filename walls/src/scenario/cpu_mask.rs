//! An affinity mask that is narrower than the host.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "cpu-mask",
    truth: Truth::Wall(&[WallId::S4]),
    construction: "server workers burn CPU, all on one of two CPUs",
    trap: "the host is half idle: it seems to have headroom",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let spin_us = dice.whole("spin_us", 500, 2000);
    let workers = dice.whole("workers", 3, 6);
    let server = format!("--workers {workers} --spin {:.1}us", f64::from(spin_us) / factor);
    Setup::new(&server, "load {url} -c 24 -d 3s")
}
