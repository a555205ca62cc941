//! Which point of a run to look at, and its rate.

use crate::claim::Claim;
use crate::objective::ObjectiveStanding;
use crate::run::{Point, Record};
use crate::search::{SearchTrial, Trust};

/// Requests that were due, and those of them without a good response.
pub fn failures_of(point: &Point) -> (u64, u64) {
    let requests = &point.requests;
    let without = requests.failed + requests.unanswered + requests.unsent;
    (requests.sent + requests.unsent, without)
}

/// Completed good responses per second. A window that never opened has no rate, rather than a rate
/// of zero.
pub fn rate_of(point: &Point) -> Option<f64> {
    let (begin_ns, end_ns) = point.window_ns;
    (begin_ns < end_ns).then_some(point.rate)
}

/// The main rate of a level: of good responses; for devices, of connections; in a fan-out, of
/// events.
pub fn rate_asked(point: &Point) -> Option<f64> {
    rate_of(point).map(|_| point.headline_rate())
}

/// The point to look at first, with its index: the least load whose rate lies in the interval of
/// the ceiling, or the highest rate when there is no interval. Points whose rate is not known do
/// not count. In a search it is the trial that shows the answer.
pub fn best_point(of: &Record) -> Option<(usize, &Point)> {
    if let Some(search) = &of.search {
        let answer = search.answer.as_ref().and_then(|answer| answer.rate);
        let shows = |trial: &SearchTrial| {
            Some(trial.rate) == answer
                && trial.standing == ObjectiveStanding::Met
                && trial.trust != Trust::Invalid
        };
        let index = search.trials.iter().rposition(shows);
        return index.and_then(|index| Some((index, of.points.get(index)?)));
    }
    let low = of.verdict.ceiling.as_ref().and_then(|ceiling| ceiling.low);
    let sound = || {
        let points = of.points.iter().enumerate();
        let rated = points.filter_map(|(index, point)| Some((index, point, rate_asked(point)?)));
        rated.filter(|(_, point, _)| !matches!(point.claim(), Claim::NotKnown(_)))
    };
    // The load of a fan-out is its subscribers.
    let load = |point: &Point| match point.events() {
        Some(events) => events.subscribers.asked as f64,
        None => point.load.rate.unwrap_or(0.0) + point.in_flight.limit as f64,
    };
    let reached = sound().filter(|(_, _, rate)| low.is_some_and(|low| *rate >= low));
    let best = reached
        .min_by(|(_, left, _), (_, right, _)| load(left).total_cmp(&load(right)))
        .or_else(|| sound().max_by(|(_, _, left), (_, _, right)| left.total_cmp(right)));
    best.map(|(index, point, _)| (index, point))
}
