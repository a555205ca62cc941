//! A generator that runs out of descriptors during the run.

use super::{Scenario, Truth};
use crate::dice::Dice;
use crate::proof::{Measure, Proof};
use crate::setup::{Actor, Setup};
use model::wall::WallId;
use std::time::Duration;

/// See the module.
pub const SCENARIO: Scenario = Scenario {
    name: "client-files",
    truth: Truth::Wall(&[WallId::C8]),
    construction: "limit of open files of the generator lowered during the run, a connection for \
        each request",
    trap: "the server seems to refuse connections",
    proof: Proof::Moves(Measure::Rate),
    set_up,
};

fn set_up(dice: &mut Dice, factor: f64) -> Setup {
    let left = f64::from(dice.whole("left", 20, 30)) * factor;
    let sleep_ms = dice.whole("sleep_ms", 15, 30);
    let server = format!("--thread-per-connection --sleep {sleep_ms}ms");
    let client = "load {url} -c 60 -d 4s --warmup 0 -H Connection:close --driver epoll";
    let mut setup = Setup::new(&server, client);
    let after = Duration::from_millis(700);
    setup.actors = vec![Actor::FilesTaken { after, left: left as u64 }];
    setup
}
