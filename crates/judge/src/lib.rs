//! What the numbers mean.
//!
//! What this room is for: deciding whether a measurement is sound, what limited it, and
//! how sure that is.
//! In: points and raw readings. Out: gates, verdicts, statistics. The same input gives the same
//! output, so old runs can be judged again.
//! Never: IO, a clock, randomness without a seed, an unmarked guess.

pub use observe;

pub mod objective;

pub mod case;

pub mod gates;
pub mod walls;

mod backlog;
mod decide;
mod fleet;
mod inside_kernel;
pub use inside_kernel::{LightLoad, next_light};

mod next;
mod remaining;
mod verdict;
mod waits;

pub mod odds;

pub mod rejudge;

mod residence;
mod sides;
pub use sides::hosts_now;

mod tail;

mod tool;
pub use tool::judge_tool;

mod few;
mod plateau;
pub mod ramp;

mod checkup;
pub use checkup::checkup;
pub use conditions::{conditions, hosts};

mod conditions;

pub mod size;
pub mod stats;
pub mod steady;

pub mod search;

pub use rejudge::again;
pub mod perturb;

pub mod signals;
pub use signals::signals;

pub use case::usable_cpus;
pub use decide::undecided;
pub use ramp::last_visits;
pub use verdict::{Context, judge_point, judge_run, worker_load};

#[cfg(test)]
mod fixture;
