//! The wall at which most requests in flight wait: A1, A3, A4, or A2 with the queue before it.

use super::waiting::{MOST, Waiting};
use super::{Seen, application_lock, downstream, limiter, relations, worker_pool};
use crate::case::Case;
use crate::waits::{self, Waits};
use model::reading::Doing;
use model::wall::WallId;

/// A wall that holds requests: its id, how many requests it holds, and the evidence.
struct Holder {
    wall: WallId,
    count: fn(&Case<'_>, &Waiting) -> f64,
    held: fn(&Case<'_>, &Waiting) -> Option<Seen>,
}

/// In the order in which one wall is named before another.
const HOLDERS: [Holder; 4] = [
    Holder {
        wall: WallId::A4,
        count: |_, waiting| waiting.threads(Doing::Timer),
        held: limiter::held,
    },
    Holder {
        wall: WallId::A3,
        count: |_, waiting| waiting.downstream.unwrap_or(0.0),
        held: downstream::held,
    },
    Holder {
        wall: WallId::A1,
        count: |_, waiting| waiting.on_one_futex,
        held: application_lock::held,
    },
    Holder { wall: WallId::A2, count: worker_pool::requests, held: worker_pool::held },
];

/// The wall at which most requests wait, whatever else is busy: the queue is where the wall is.
pub(crate) fn at_most_requests(case: &Case<'_>) -> Option<(WallId, Seen)> {
    let waiting = Waiting::count(case).filter(|_| waits::of(case) != Waits::No)?;
    let holds = |one: &&Holder| (one.count)(case, &waiting) >= MOST * waiting.in_flight;
    let seen = |one: &Holder| {
        let seen = (one.held)(case, &waiting)?;
        (!relations::is_explained(case, one.wall, &seen)).then_some((one.wall, seen))
    };
    HOLDERS.iter().filter(holds).find_map(seen)
}
