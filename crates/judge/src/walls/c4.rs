//! C4: the generator does not send its requests when they are due, or stands still while responses
//! wait for it.
//!
//! Signals: lateness of each request (sent minus due, without any wait for a connection), how long
//! responses may have been there unseen, time the workers waited for a CPU.
//! Rule: lateness moves what was asked for. The median or p99 differs by over 5 % and 50 us from
//! the bound on what a punctual generator would have seen. Where an objective was asked for, a
//! percentile of it does, and the objective holds at one of the two and not at the other: a search
//! that is met either way was not limited by the generator.
//! Mimics: a neighbour on the generator's CPUs, a throttled group (both are named beside it when
//! they show).
//! Confirm: a lower rate, more threads or a second host: the lateness collapses.
//! Source: G. Tene, How NOT to Measure Latency; Nighthawk's and fortio's counters of late sends.

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use crate::gates::release::{self, Moved};
use crate::objective::latency_of;
use model::objective;
use model::units::{show_count, show_ns};

pub fn test(case: &Case<'_>) -> Test {
    if !case.is_open() && case.point.unseen_ns.is_none() {
        return Test::NotSeen;
    }
    if case.point.latency_ns.count == 0 {
        return Test::Untested;
    }
    let Some(moved) = moved_asked(case) else { return Test::NotSeen };
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

/// What was asked for and depends on how late the generator was.
fn moved_asked(case: &Case<'_>) -> Option<Moved> {
    let terms = case.trial.expect.as_ref().map(|expect| expect.terms()).unwrap_or_default();
    let mut bounds = terms.iter().filter_map(|term| match term.figure {
        objective::Figure::Latency(statistic) => Some((latency_of(statistic), term)),
        _ => None,
    });
    if bounds.clone().next().is_none() {
        return release::moved_asked(case);
    }
    bounds.find_map(|(figure, term)| {
        let holds = |at_ns: u64| term.relation.holds(at_ns as f64, term.bound);
        let is_open = |moved: &Moved| holds(moved.low_ns) != holds(moved.known_ns);
        release::moved(case.point).find(|moved| moved.figure == figure && is_open(moved))
    })
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

    #[test]
    fn an_objective_that_is_met_either_way_was_not_limited_by_lateness() {
        let mut fixture = Fixture::good();
        let p50_ns = fixture.point.latency_ns.p50.unwrap();
        fixture.point.load.model = "open".to_string();
        let low = Summary { p50: Some(p50_ns / 2), ..fixture.point.latency_ns.clone() };
        fixture.point.latency_punctual_ns = Some(low);
        for (bound_ns, is_seen) in [(p50_ns * 2, false), (p50_ns * 3 / 4, true), (1000, false)] {
            fixture.trial.expect = Some(format!("p50<{bound_ns}ns,errors<1%").parse().unwrap());
            let test = super::test(&fixture.case());
            assert_eq!(matches!(test, Test::Seen(_)), is_seen, "{bound_ns}");
        }
        fixture.trial.expect = Some("errors<1%".parse().unwrap());
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "no time was asked for");
    }
}
