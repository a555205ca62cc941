//! The data plane: drives load and stamps every request.
//!
//! What this room is for: moving bytes as cheaply as the kernel allows, and recording for each
//! request when it was sent and when its response was complete.
//! In: a job (routes, encoded requests, sizes) and orders (connect, warm up, measure, stop).
//! Out: ticks, one per worker and tenth of a second.
//! Never: a lock, a log line, an async runtime, the wall clock, a file; and after warm-up no
//! allocation.

#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod job;

mod crew;
pub mod subscriber;
pub mod worker;

mod alarms;
mod flight;
mod ledger;
mod messages;
mod places;
mod pool;
mod samples;
mod slowest;
mod start;
mod tally;

mod checks;
mod recorder;
pub mod schedule;
pub mod shard;

pub mod clock;
pub mod driver;
mod pin;
pub mod simulate;
mod sys;

pub use crew::{Crew, FarCrew, Role, StartError, choose_driver, seed_of_visit};
