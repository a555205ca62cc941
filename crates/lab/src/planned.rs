//! How many requests an open loop plans in a window, counted without the workers.
//!
//! The workers count what they sent and what they never sent. This walks the same schedule again,
//! as a whole instead of in shares, so that planned = sent + unsent is a check and not a
//! definition.

use engine::schedule::Schedule;
use engine::seed_of_visit;
use engine::shard::Shard;
use model::fleet::Share;
use model::load::{Arrival, Level, Stop, Trial};
use std::sync::Arc;

/// Schedules longer than this are not walked again; it would take seconds.
const PLANNED_MAX: f64 = 50e6;

/// Requests due in the window of visit number `load`; `None` for a closed loop, for a window that a
/// number of requests ends, and for a schedule too long to be walked.
pub fn planned(trial: &Trial, until: Stop, level: &Level, load: u32) -> Option<u64> {
    let Stop::AfterNs(window_ns) = until else { return None };
    planned_of(&Share::alone(1), trial, (level, load), window_ns)
}

/// The part of those that belongs to a share. The level is that of the whole load.
pub fn planned_of(
    share: &Share,
    trial: &Trial,
    (level, load): (&Level, u32),
    window_ns: u64,
) -> Option<u64> {
    let Arrival::Open { curve, arrivals } = &level.arrival else { return None };
    if curve.planned_until(window_ns) > PLANNED_MAX {
        return None;
    }
    let (seed, shard) = (seed_of_visit(trial.seed, load), Shard::all_together(share));
    let mut schedule = Schedule::new(&Arc::new(curve.clone()), *arrivals, seed, shard);
    let due = std::iter::from_fn(|| schedule.next_ns());
    Some(due.take_while(|due_ns| *due_ns < window_ns).count() as u64)
}
