//! In open loop requests leave when they are due.
//!
//! Latency counts from the planned instant, so a generator that is late adds its own lateness to
//! the server's latency. A request that had to wait for a connection with room is not late: that
//! wait is the server's. The gate holds when the lateness at p99.9 is at most a twentieth of the
//! median latency. With fewer than ten thousand requests there is no p99.9: then the gate is
//! broken when the highest percentile that has ten requests beyond it is over the bound, holds
//! when even the latest request is within it, and is not checked between the two.

use super::Outcome;
use crate::case::Case;
use model::histogram::Summary;
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
    let Some(p50_ns) = point.latency_ns.p50.or(at_least) else {
        return Outcome::unchecked(BOUND, "no median latency");
    };
    let Some((lateness, (name, late_ns))) = lateness.and_then(|late| Some((late, highest(late)?)))
    else {
        return Outcome::unchecked(BOUND, "no request was sent");
    };
    let share_of_p50 = |late_ns: u64| late_ns as f64 / p50_ns.max(1) as f64;
    let (late, p50) = (show_ns(late_ns as f64), show_ns(p50_ns as f64));
    let latest_ns = lateness.max.filter(|_| lateness.p99_9.is_none());
    if share_of_p50(late_ns) <= SHARE_MAX
        && let Some(latest_ns) = latest_ns.filter(|late_ns| share_of_p50(*late_ns) > SHARE_MAX)
    {
        let latest = show_ns(latest_ns as f64);
        let why = format!(
            "too few requests for a p99.9: {late} late at {name}, but the latest left {latest} \
             late, p50 of the latency is {p50}"
        );
        return Outcome::unchecked(BOUND, &why);
    }
    let share = share_of_p50(late_ns);
    let ok = share <= SHARE_MAX;
    let who = if ok { "the client is on time" } else { "the client is late (C4)" };
    let why = format!("{who}: it left {late} late at {name}, p50 of the latency is {p50}");
    Outcome { ok: Some(ok), measured: Some(share * 100.0), bound: BOUND.to_string(), why }
}

/// The highest percentile of the lateness that is known, up to p99.9; of very few requests the
/// latest.
pub(crate) fn highest(late: &Summary) -> Option<(&'static str, u64)> {
    let known = [
        ("p99.9", late.p99_9),
        ("p99", late.p99),
        ("p95", late.p95),
        ("p90", late.p90),
        ("p50", late.p50),
        ("the latest", late.max),
    ];
    known.into_iter().find_map(|(name, late_ns)| Some((name, late_ns?)))
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

    #[test]
    fn of_few_requests_one_late_one_neither_breaks_it_nor_lets_it_hold() {
        let late = |p95, p99_9, max| Summary { p95, p99_9, max, ..Summary::default() };
        let check = |late: Summary| {
            let mut fixture = Fixture::good();
            fixture.point.load.model = "open".to_string();
            fixture.point.latency_ns.p50 = Some(1000);
            fixture.point.lateness_ns = Some(late);
            super::check(&fixture.case()).ok
        };
        assert_eq!(check(late(Some(50), None, Some(50))), Some(true), "even the latest");
        assert_eq!(check(late(Some(50), None, Some(51))), None, "who knows");
        assert_eq!(check(late(Some(51), None, Some(900))), Some(false), "at p95 already");
        assert_eq!(check(late(None, None, Some(51))), Some(false), "one of all");
        assert_eq!(check(late(Some(50), Some(50), Some(900))), Some(true), "one in a thousand");
        assert_eq!(check(Summary::default()), None);
    }
}
