//! Bursts of arrivals: when more requests were due than the server ever did.

use model::run::Point;
use observe::Span;

/// The plan is looked at in steps of so many nanoseconds.
const STEP_NS: u64 = 10_000_000;
/// Longer windows have longer steps: no more than this many.
const STEPS_MAX: u64 = 6000;
/// The interval of `Point::per_100ms`, nanoseconds.
const TENTH_NS: f64 = 1e8;

/// The times in which requests waited for the ones that were due before them, if the server did as
/// many as in its best tenth of a second. What is lost in one is the longest wait. Nothing where
/// the planned rate is constant or has none.
pub(super) fn bursts(point: &Point) -> Option<Vec<Span>> {
    let curve = point.load.curve.as_ref()?;
    let best = *point.per_100ms.iter().max().filter(|best| **best > 0)?;
    let window_ns = point.window_ns.1.saturating_sub(point.window_ns.0);
    let step_ns = STEP_NS.max(window_ns / STEPS_MAX);
    let does = best as f64 * step_ns as f64 / TENTH_NS;
    let (mut planned, mut waiting) = (0.0, 0.0);
    let mut spans: Vec<Span> = Vec::new();
    // What waits at the end of the window is still done after it, and waits no longer than it took
    // to come.
    for begin_ns in (0..2 * window_ns).step_by(step_ns as usize) {
        if begin_ns >= window_ns && waiting == 0.0 {
            break;
        }
        let end_ns = begin_ns + step_ns;
        let until = curve.planned_until(end_ns.min(window_ns));
        waiting = (waiting + until - planned - does).max(0.0);
        planned = until;
        let lost_ns = (waiting / does * step_ns as f64) as u64;
        match spans.last_mut().filter(|last| last.end_ns == begin_ns) {
            _ if lost_ns == 0 => {}
            Some(last) => (last.end_ns, last.lost_ns) = (end_ns, last.lost_ns.max(lost_ns)),
            None => spans.push(Span { begin_ns, end_ns, lost_ns }),
        }
    }
    Some(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use model::curve::{Curve, Leg};

    const MS: u64 = 1_000_000;

    #[test]
    fn what_is_due_above_the_best_tenth_waits() {
        let mut point = Fixture::good().point;
        let leg = |ms: u64, rate: f64| Leg { duration_ns: ms * MS, from: rate, to: rate };
        let legs = vec![leg(400, 100.0), leg(100, 1500.0), leg(500, 100.0)];
        point.load.curve = Some(Curve::of_legs(legs));
        point.window_ns = (5, 5 + 1000 * MS);
        // 150 are due in a tenth, and 100 done: the last of the other 50 waits for 50 ms, and they
        // are gone after 50 / 90 of a tenth in which 10 more are due.
        point.per_100ms = vec![10, 10, 10, 10, 100, 60, 10, 10, 10, 10];
        let spans = bursts(&point).unwrap();
        let in_ms: Vec<_> = spans
            .iter()
            .map(|span| (span.begin_ns / MS, span.end_ns / MS, (span.lost_ns + MS / 2) / MS))
            .collect();
        assert_eq!(in_ms, [(400, 550, 50)]);
        point.window_ns = (5, 5 + 500 * MS);
        let spans = bursts(&point).unwrap();
        let in_ms: Vec<_> =
            spans.iter().map(|span| (span.begin_ns / MS, span.end_ns / MS)).collect();
        assert_eq!(in_ms, [(400, 540)], "what waits at the end is done after it");
        point.window_ns = (5, 5 + 1000 * MS);
        point.per_100ms[4] = 150;
        assert_eq!(bursts(&point).unwrap(), [], "it did all of them");
        point.load.curve = None;
        assert_eq!(bursts(&point), None);
    }
}
