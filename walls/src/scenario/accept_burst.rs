//! Connections that all arrive at once, and an accept queue that is too short for them.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::Setup;
use model::wall::WallId;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "accept-burst",
    truth: Truth::Wall(&[WallId::K1]),
    construction: "short backlog, hundreds of requests in the same instant once a second, a \
        connection for each",
    trap: "the accept queue is empty on average",
    proof: Proof::Lifts(Measure::LatencyP90),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let backlog = f64::from(dice.whole("backlog", 6, 12)) * factor;
    let burst = dice.whole("burst", 150, 250);
    let server = format!("--workers 4 --accept-delay 300us --backlog {:.0}", backlog.min(4096.0));
    let client = "load {url} -c 250 --replay {file} -H Connection:close --warmup 0";
    let mut setup = Setup::new(&server, client);
    let second = |t: u32| format!("{t},{0}\n{t}.04,{0}\n{t}.041,5\n{t}.999,5\n", burst * 25);
    setup.client.file = Some(format!("t,rate\n{}", (0..5).map(second).collect::<String>()));
    setup
}
