//! When a trial of a search need not wait for requests in flight.
//!
//! A drain lasts as long as the time-out, so that every request has a fate. A search makes many
//! trials above the target's capacity, and a full drain in each would cost most of its budget. Once
//! all requests in flight are older than the bound of a term, their exact latency does not matter:
//! they are beyond the bound with or without a response. So the drain of a trial ends when one term
//! is sure to miss, or when no term can change.

use model::figure::{Figure, Statistic, Times};
use model::histogram::{Histogram, rank_of};
use model::objective::{Objective, Term};

/// The shortest drain of a trial that leaves requests in flight, nanoseconds: they hold connections
/// that the next trial needs.
pub const DRAIN_MIN_NS: u64 = 2_000_000_000;

/// The requests of a window that is over.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Latency of the good responses so far.
    pub latency: &'a Histogram,
    /// Service time of the good responses so far.
    pub service: &'a Histogram,
    /// Requests that failed so far.
    pub failed: u64,
    /// Requests that are in flight.
    pub in_flight: u64,
    /// Requests that were never sent, at least.
    pub unsent: u64,
    /// How long ago the window ended, nanoseconds: everything in flight has waited at least this
    /// long.
    pub waited_ns: u64,
}

/// What the requests in flight can still change about a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It is missed, whatever comes.
    Missed,
    /// Nothing.
    Nothing,
    /// It may go either way.
    Open,
}

/// Whether no request in flight can change the result of the objective.
pub fn is_settled(objective: &Objective, known: &Known<'_>) -> bool {
    let left: Vec<Left> = objective.terms().iter().map(|term| left(term, known)).collect();
    left.contains(&Left::Missed) || left.iter().all(|left| *left == Left::Nothing)
}

fn left(term: &Term, known: &Known<'_>) -> Left {
    let lost = known.failed + known.in_flight;
    match term.figure {
        Figure::Errors => {
            let due = known.latency.count() + lost + known.unsent;
            let share = |bad: u64| 100.0 * bad as f64 / due.max(1) as f64;
            let holds = |bad: u64| term.relation.holds(share(bad), term.bound);
            match (holds(known.failed + known.unsent), holds(lost + known.unsent)) {
                (false, _) => Left::Missed,
                (true, true) => Left::Nothing,
                (true, false) => Left::Open,
            }
        }
        // A request in flight may still get a good response, slower than all others, or none.
        Figure::Status(_)
        | Figure::Time(Times::Good | Times::First | Times::Gap | Times::Message, _) => {
            if known.in_flight == 0 { Left::Nothing } else { Left::Open }
        }
        // Users go on after the window, also those who have nothing in flight.
        Figure::Time(Times::Flow, _) => Left::Open,
        Figure::Time(Times::Latency, statistic) => {
            left_of_time(term, statistic, known, (known.latency, lost + known.unsent))
        }
        Figure::Time(Times::Service, statistic) => {
            left_of_time(term, statistic, known, (known.service, lost))
        }
        // Of connections, or counted in the window, which is over.
        _ => Left::Nothing,
    }
}

/// `times` are those of good responses, and the number of requests without one.
fn left_of_time(
    term: &Term,
    statistic: Statistic,
    known: &Known<'_>,
    (times, without): (&Histogram, u64),
) -> Left {
    if known.in_flight > 0 && term.relation.holds(known.waited_ns as f64, term.bound) {
        return Left::Open;
    }
    let quantile = match statistic {
        // Each of them changes it.
        Statistic::Mean if known.in_flight > 0 => return Left::Open,
        Statistic::Mean => return Left::Nothing,
        other => other.quantile().unwrap_or(1.0),
    };
    let population = times.count() + without;
    let within = times.count_up_to(term.bound as u64);
    let is_missed = rank_of(quantile, population) > within;
    if is_missed { Left::Missed } else { Left::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn settled(terms: &str, times_ms: &[(u64, u64)], known: (u64, u64, u64, u64)) -> bool {
        let mut latency = Histogram::new();
        times_ms.iter().for_each(|(ms, count)| latency.record_n(ms * MS, *count));
        let (failed, in_flight, unsent, waited_ms) = known;
        let (service, waited_ns) = (&latency, waited_ms * MS);
        let known = Known { latency: &latency, service, failed, in_flight, unsent, waited_ns };
        is_settled(&terms.parse().unwrap(), &known)
    }

    #[test]
    fn a_miss_that_nothing_can_mend_ends_it() {
        // 50 of 1000 in flight are 5 %: p99 is missed once they are older than its bound.
        assert!(settled("p99<50ms", &[(10, 950)], (0, 50, 0, 60)));
        assert!(settled("p99<50ms,errors<1%", &[(10, 950)], (0, 50, 0, 60)));
        assert!(!settled("p99<50ms,errors<1%", &[(10, 950)], (0, 50, 0, 40)), "still young");
        assert!(settled("p99<50ms", &[(10, 900)], (0, 1, 99, 60)), "unsent ones are beyond it");
        assert!(settled("errors<1%", &[(10, 900)], (20, 1, 0, 0)));
    }

    #[test]
    fn what_may_still_be_an_error_or_none_is_awaited() {
        // 5 of 1000 are in flight: p99 holds anyway, but errors depend on what becomes of them.
        assert!(!settled("p99<50ms,errors<0.1%", &[(10, 995)], (0, 5, 0, 60)));
        assert!(settled("p99<50ms,errors<1%", &[(10, 995)], (0, 5, 0, 60)), "it holds anyway");
        assert!(settled("p99<50ms", &[(10, 995)], (0, 5, 0, 60)), "no other term");
        assert!(!settled("mean<50ms", &[(10, 995)], (0, 5, 0, 60)), "each moves the mean");
        assert!(!settled("status.5xx<1%", &[(10, 995)], (0, 5, 0, 60)));
        assert!(settled("max<50ms", &[(10, 995)], (0, 1, 0, 60)));
    }
}
