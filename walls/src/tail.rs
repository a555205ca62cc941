//! Servers at a load far below their capacity, some of whose requests are slow for one reason: the
//! verdict on the slowest requests is scored, not the wall.
//!
//! What makes requests slow comes and goes at drawn instants, or belongs to one target or one
//! connection. The proof of a label is that p99 is better without it. `clean` has no reason: any
//! cause that is named there is wrong.

use crate::scenario::Scenario;

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
