//! Connections that all come at once, and an accept queue that is too short for them.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "accept-burst",
    truth: Truth::Wall(&[WallId::K1]),
    construction: "short backlog, hundreds of devices that connect in the same instant every two seconds",
    trap: "the accept queue is empty on average",
    proof: Proof::Lifts(Measure::ConnectMean),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let backlog = f64::from(dice.whole("backlog", 6, 12)) * factor;
    let devices = dice.whole("devices", 150, 250);
    let server = format!("--thread-per-connection --backlog {:.0}", backlog.min(4096.0));
    let churn = format!("churn {{url}} --devices {devices} --hold 1s --ramp-up 10ms -d 4s");
    Setup::new(&format!("{server} --accept-delay 500us"), &churn)
}
