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

/// Distributions of one open-loop window.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// From the planned instant.
    pub latency: &'a Histogram,
    /// From the send.
    pub service: &'a Histogram,
    /// From when a request could leave to when it left.
    pub lateness: &'a Histogram,
    /// Requests without a good response: they rank above all others.
    pub censored: u64,
}

/// Lower bounds of the percentiles, the mean and the maximum that a punctual generator would have
/// seen. A percentile is absent where the latency itself is.
pub fn punctual(window: Window<'_>) -> Summary {
    let known = window.latency.summary(window.censored);
    let service = window.service.summary(window.censored);
    let lower = |known_ns: Option<u64>, service_ns: Option<u64>, quantile: f64| {
        let by_service_ns = service_ns.unwrap_or(0);
        known_ns.map(|known_ns| ranked(window, quantile).max(by_service_ns).min(known_ns))
    };
    let late_ns = window.lateness.sum_ns();
    let count = u128::from(window.latency.count().max(1));
    let mean_ns = (window.latency.sum_ns().saturating_sub(late_ns) / count) as u64;
    Summary {
        min: None,
        mean: known.mean.map(|known_ns| mean_ns.max(service.mean.unwrap_or(0)).min(known_ns)),
        stdev: None,
        p50: lower(known.p50, service.p50, 0.5),
        p75: lower(known.p75, service.p75, 0.75),
        p90: lower(known.p90, service.p90, 0.9),
        p95: lower(known.p95, service.p95, 0.95),
        p99: lower(known.p99, service.p99, 0.99),
        p99_9: lower(known.p99_9, service.p99_9, 0.999),
        p99_99: lower(known.p99_99, service.p99_99, 0.9999),
        max: lower(known.max, service.max, 1.0),
        ..known
    }
}

/// The largest bound for a rank, over all latenesses tried.
fn ranked(window: Window<'_>, quantile: f64) -> u64 {
    let (latency, lateness) = (window.latency, window.lateness);
    let population = latency.count() + window.censored;
    let rank = (quantile * population as f64).ceil() as u64;
    let bound = |share: f64| {
        let late_ns = lateness.quantile_ns(share)?;
        let later = lateness.count() - lateness.count_up_to(late_ns);
        let rank = rank.checked_sub(later).filter(|rank| *rank > 0)?;
        let at_ns = latency.quantile_ns(rank as f64 / latency.count() as f64)?;
        Some(at_ns.saturating_sub(late_ns))
    };
    TRIED.into_iter().filter_map(bound).max().unwrap_or(0)
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
        punctual(Window { latency, service, lateness, censored: 0 })
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
