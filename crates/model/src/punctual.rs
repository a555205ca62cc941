//! What latency would have been had the generator been on time, bounded from below.
//!
//! Latency counts from the planned instant, so it holds the generator's own lateness. Take a
//! request away from its lateness and what is left is at least its service time. Of the whole
//! distribution more can be said without another stamp on each request. Let `n` requests have left
//! more than `d` late. Of the requests whose latency less their own lateness is at most `x`, at
//! most `n` were that late, and the latency of all others is at most `x + d`. So the value of rank
//! `r` is at least the latency of rank `r - n`, less `d`, for every `d`; the largest of these
//! bounds is taken. One late request in a thousand therefore hardly moves a median.

use crate::histogram::{Histogram, Summary};

/// Shares of the lateness at which a bound is tried.
const TRIED: [f64; 10] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0];

/// Distributions of one window. In closed loop latency counts from the send: it is the service, and
/// nothing left late.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// From the planned instant.
    pub latency: &'a Histogram,
    /// From the send.
    pub service: &'a Histogram,
    /// From when a request could leave to when it left.
    pub lateness: &'a Histogram,
    /// How long responses may have been there unseen; of those that may.
    pub unseen: &'a Histogram,
    /// Requests without a good response: they rank above all others.
    pub censored: u64,
}

/// Lower bounds of the percentiles, the mean and the maximum that a punctual generator would have
/// seen. A percentile is absent where the latency itself is.
pub fn punctual(window: Window<'_>) -> Summary {
    let Window { latency, service, lateness, unseen, censored } = window;
    let (known, served) = (latency.summary(censored), service.summary(censored));
    let lower = |known_ns: Option<u64>, served_ns: Option<u64>, quantile: f64| {
        let by_service = served_ns.map(|_| ranked(service, censored, &[unseen], quantile));
        let by_latency = ranked(latency, censored, &[lateness, unseen], quantile);
        known_ns.map(|known_ns| by_latency.max(by_service.unwrap_or(0)).min(known_ns))
    };
    let mean = |of: &Histogram, late_ns: u128| {
        (of.sum_ns().saturating_sub(late_ns) / u128::from(of.count().max(1))) as u64
    };
    let served_ns = served.mean.map_or(0, |_| mean(service, unseen.sum_ns()));
    let mean_ns = mean(latency, lateness.sum_ns() + unseen.sum_ns()).max(served_ns);
    Summary {
        min: None,
        mean: known.mean.map(|known_ns| mean_ns.min(known_ns)),
        stdev: None,
        p50: lower(known.p50, served.p50, 0.5),
        p75: lower(known.p75, served.p75, 0.75),
        p90: lower(known.p90, served.p90, 0.9),
        p95: lower(known.p95, served.p95, 0.95),
        p99: lower(known.p99, served.p99, 0.99),
        p99_9: lower(known.p99_9, served.p99_9, 0.999),
        p99_99: lower(known.p99_99, served.p99_99, 0.9999),
        max: lower(known.max, served.max, 1.0),
        ..known
    }
}

/// The largest bound for a rank, over all delays tried. A delay may be in each of the
/// distributions, so it is taken off once for each.
fn ranked(values: &Histogram, censored: u64, delays: &[&Histogram], quantile: f64) -> u64 {
    let population = values.count() + censored;
    let rank = (quantile * population as f64).ceil() as u64;
    let bound = |delay_ns: u64| {
        let later = |one: &Histogram| one.count() - one.count_up_to(delay_ns);
        let later: u64 = delays.iter().map(|one| later(one)).sum();
        let most = |one: &Histogram| one.quantile_ns(1.0).unwrap_or(0).min(delay_ns);
        let taken_off_ns: u64 = delays.iter().map(|one| most(one)).sum();
        let rank = rank.checked_sub(later).filter(|rank| *rank > 0)?;
        let at_ns = values.quantile_ns(rank as f64 / values.count() as f64)?;
        Some(at_ns.saturating_sub(taken_off_ns))
    };
    let of = |one: &Histogram| TRIED.map(|share| one.quantile_ns(share).unwrap_or(0));
    let tried = delays.iter().flat_map(|one| of(one)).chain([0]);
    tried.filter_map(bound).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three histograms of requests given by service, lateness and wait for a connection.
    fn histograms(requests: &[(u64, u64, u64)]) -> [Histogram; 3] {
        let mut all = [Histogram::new(), Histogram::new(), Histogram::new()];
        for (service_ns, late_ns, wait_ns) in requests {
            all[0].record_n(service_ns + late_ns + wait_ns, 1);
            all[1].record_n(*service_ns, 1);
            all[2].record_n(*late_ns, 1);
        }
        all
    }

    fn of(requests: &[(u64, u64, u64)]) -> Summary {
        let [latency, service, lateness] = &histograms(requests);
        let unseen = &Histogram::new();
        punctual(Window { latency, service, lateness, unseen, censored: 0 })
    }

    #[test]
    fn one_late_request_in_a_thousand_leaves_the_median() {
        // Half of the requests wait long for a connection, so service says little.
        let mut requests: Vec<_> =
            (0..10_000u64).map(|at| (5_000_000, 1_000, at % 1000 * 100_000)).collect();
        requests.iter_mut().step_by(1000).for_each(|request| request.1 = 30_000_000);
        let bound_ns = of(&requests).p50.unwrap();
        let known_ns = histograms(&requests)[0].quantile_ns(0.5).unwrap();
        assert!(known_ns - bound_ns < 300_000, "{bound_ns} of {known_ns}");
    }

    #[test]
    fn without_waits_service_is_the_bound() {
        let requests: Vec<_> = (0..1000u64).map(|at| (1_000_000 + at, 500_000, 0)).collect();
        let bound = of(&requests);
        assert!(bound.p50.unwrap() >= 1_000_000 && bound.p50.unwrap() < 1_002_000, "{bound:?}");
    }

    #[test]
    fn a_generator_that_stood_still_bounds_the_tail_and_leaves_the_median() {
        let mut latency = Histogram::new();
        latency.record_n(1_000_000, 990);
        latency.record_n(80_000_000, 10);
        let (mut unseen, empty) = (Histogram::new(), Histogram::new());
        unseen.record_n(80_000_000, 10);
        let (latency, service) = (&latency, &latency);
        let window = Window { latency, service, lateness: &empty, unseen: &unseen, censored: 0 };
        let bound = punctual(window);
        assert!(bound.p50.unwrap() >= 999_000, "{bound:?}");
        assert!(bound.max.unwrap() <= 1_001_000, "the longest may be none: {bound:?}");
        assert!(bound.mean.unwrap() < 1_001_000, "{bound:?}");
        let seen = punctual(Window { unseen: &empty, ..window });
        assert_eq!((seen.max, seen.mean), (Some(80_000_000), Some(1_790_000)));
    }

    proptest! {
        #[test]
        fn no_bound_exceeds_what_a_punctual_generator_would_have_seen(
            requests in proptest::collection::vec(
                (1u64..50_000_000, 0u64..20_000_000, 0u64..50_000_000), 30..400),
        ) {
            let bound = of(&requests);
            let mut truth: Vec<u64> =
                requests.iter().map(|(service_ns, _, wait_ns)| service_ns + wait_ns).collect();
            truth.sort_unstable();
            for (bound_ns, quantile) in
                [(bound.p50, 0.5), (bound.p75, 0.75), (bound.p90, 0.9), (bound.max, 1.0)]
            {
                let Some(bound_ns) = bound_ns else { continue };
                let rank = (quantile * truth.len() as f64).ceil() as usize;
                // Buckets are a thousandth wide, and two of them were read.
                let truth_ns = truth[rank - 1] as f64 * 1.003;
                prop_assert!(bound_ns as f64 <= truth_ns, "{bound_ns} > {truth_ns} at {quantile}");
            }
        }
    }
}
