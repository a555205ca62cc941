//! C4: the generator does not send its requests when they are due, or stands still while responses
//! wait for it.
//!
//! Signals: lateness of each request (sent minus due, without any wait for a connection), how long
//! responses may have been there unseen, time the workers waited for a CPU.
//! Rule: lateness moves what was asked for: a percentile of the objective, else the median or p99,
//! differs by over 5 % and 50 us from the bound on what a punctual generator would have seen.
//! Mimics: a neighbour on the generator's CPUs, a throttled group (both are named beside it when
//! they show).
//! Confirm: a lower rate, more threads or a second host: the lateness collapses.
//! Source: G. Tene, How NOT to Measure Latency; Nighthawk's and fortio's counters of late sends.

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use crate::gates::release;
use model::units::{show_count, show_ns};

pub fn test(case: &Case<'_>) -> Test {
    if !case.is_open() && case.point.unseen_ns.is_none() {
        return Test::NotSeen;
    }
    if case.point.latency_ns.count == 0 {
        return Test::Untested;
    }
    let Some(moved) = release::moved_asked(case) else { return Test::NotSeen };
    let (low, high) = (show_ns(moved.low_ns as f64), show_ns(moved.known_ns as f64));
    let by = show_ns((moved.known_ns - moved.low_ns) as f64);
    let mut seen = Seen::default().with(
        Family::QueueLocation,
        "client",
        "engine",
        &format!("{} with and without the generator's own lateness", moved.figure.name()),
        format!("{low} to {high}: moved by up to {by}"),
        "over 5 % and 50 us apart",
    );
    if let Some(hottest) = case.hottest_worker() {
        let (run, waited) = (percent(hottest.run), percent(hottest.wanted() - hottest.run));
        seen = seen.with(
            Family::ThreadStates,
            "client",
            "schedstat",
            &format!("{} ran {run} of the time, and waited for a CPU", hottest.name),
            waited,
            "any waiting makes requests late",
        );
    }
    let lower = show_count(case.point.load.rate.unwrap_or(0.0) / 2.0);
    Test::Seen(seen.next(format!(
        "give the generator CPUs of its own (--cpus, -t), a second host, or ask for less (-R \
         {lower})"
    )))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use model::histogram::Summary;

    #[test]
    fn a_late_generator_is_seen_and_a_punctual_one_is_not() {
        let mut fixture = Fixture::good();
        fixture.check_gates();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "closed loop");
        fixture.point.load.model = "open".to_string();
        let p50_ns = fixture.point.latency_ns.p50.unwrap();
        for (late_ns, is_seen) in [(p50_ns / 100, false), (p50_ns / 2, true)] {
            let low = Summary { p50: Some(p50_ns - late_ns), ..fixture.point.latency_ns.clone() };
            fixture.point.latency_punctual_ns = Some(low);
            fixture.check_gates();
            let test = super::test(&fixture.case());
            assert_eq!(matches!(test, Test::Seen(_)), is_seen, "{late_ns}");
        }
    }
}
