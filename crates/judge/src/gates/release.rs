//! In open loop requests leave when they are due.
//!
//! Latency counts from the planned instant, so a generator that is late adds its own lateness to
//! the server's latency. A request that had to wait for a connection with room is not late: that
//! wait is the server's. The gate holds when the lateness at p99.9 is at most a twentieth of the
//! median latency.

use super::Outcome;
use crate::case::Case;
use model::units::show_ns;

const BOUND: &str = "lateness p99.9 at most 5 % of latency p50";
/// Share of the median latency.
const SHARE_MAX: f64 = 0.05;

pub fn check(case: &Case<'_>) -> Outcome {
    let point = case.point;
    if !case.is_open() {
        return Outcome::unchecked(BOUND, "closed loop: nothing is planned");
    }
    // The lower bound does where the median is among requests without an answer.
    let at_least = point.latency_at_least_ns.as_ref().and_then(|latency| latency.p50);
    let lateness = point.lateness_ns.as_ref();
    let (Some(p50_ns), Some(late_ns)) =
        (point.latency_ns.p50.or(at_least), lateness.and_then(|late| late.p99_9.or(late.max)))
    else {
        return Outcome::unchecked(BOUND, "no median latency, or no request was sent");
    };
    let share = late_ns as f64 / p50_ns.max(1) as f64;
    let (late, p50) = (show_ns(late_ns as f64), show_ns(p50_ns as f64));
    let ok = share <= SHARE_MAX;
    let who = if ok { "the client is on time" } else { "the client is late (C4)" };
    // Too few requests for a p99.9: the latest of all stands for it.
    let which = match lateness.and_then(|late| late.p99_9) {
        Some(_) => format!("one request in a thousand left {late} late or more"),
        None => format!("the latest request left {late} late"),
    };
    let why = format!("{who}: {which}, p50 is {p50}");
    Outcome { ok: Some(ok), measured: Some(share * 100.0), bound: BOUND.to_string(), why }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::histogram::Summary;

    fn holds(late_ns: u64, p50_ns: Option<u64>, at_least_ns: u64) -> Option<bool> {
        let mut fixture = Fixture::good();
        fixture.point.load.model = "open".to_string();
        fixture.point.latency_ns.p50 = p50_ns;
        fixture.point.lateness_ns = Some(Summary { p99_9: Some(late_ns), ..Summary::default() });
        fixture.point.latency_at_least_ns =
            Some(Summary { p50: Some(at_least_ns), ..Summary::default() });
        super::check(&fixture.case()).ok
    }

    #[test]
    fn lateness_is_held_against_the_median() {
        assert_eq!(holds(50_000, Some(1_000_000), 0), Some(true));
        assert_eq!(holds(51_000, Some(1_000_000), 0), Some(false));
        assert_eq!(holds(51_000, None, 2_000_000), Some(true), "against its lower bound");
    }

    #[test]
    fn a_closed_loop_has_no_plan_to_be_late_for() {
        assert_eq!(super::check(&Fixture::good().case()).ok, None);
    }
}
