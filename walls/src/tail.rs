//! Servers at a load far below their capacity, some of whose requests are slow for one reason: the
//! verdict on the slowest requests is scored, not the wall.
//!
//! What makes requests slow comes and goes at drawn instants, or belongs to one target or one
//! connection. The proof of a label is that p99 is better without it. `clean` has no reason: any
//! cause that is named there is wrong.

use crate::dice::Dice;
use crate::scenario::Scenario;
use crate::setup::{Actor, Host, Setup};
use crate::spells::Spells;

mod bursts;
mod clean;
mod connection;
mod disk;
mod generator;
mod lossy;
mod neighbour;
mod stopped;
mod target;
mod throttled;

/// Every scenario of the family, in the order of the table.
pub const ALL: &[&Scenario] = &[
    &throttled::SCENARIO,
    &stopped::SCENARIO,
    &generator::SCENARIO,
    &neighbour::SCENARIO,
    &lossy::SCENARIO,
    &disk::SCENARIO,
    &target::SCENARIO,
    &connection::SCENARIO,
    &bursts::SCENARIO,
    &clean::SCENARIO,
];

/// One side is stopped now and then for 60 to 140 ms.
fn stopped_side(dice: &mut Dice, factor: f64, of: Host) -> Setup {
    let rate = dice.whole("rate", 200, 400);
    let spells = Spells::drawn(dice, (0.4, 1.6), (0.06 / factor, 0.14 / factor));
    let client = format!("load {{url}} -c 64 -R {rate} --arrivals poisson -d 12s");
    let mut setup = Setup::new("--workers 8 --sleep 2ms", &client);
    setup.actors = vec![Actor::Pauser { of, spells }];
    setup
}
