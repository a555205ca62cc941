//! What latency would have been had the generator been on time, bounded from below.
//!
//! A generator adds to a latency in two places. In open loop latency counts from the planned
//! instant, so it holds the generator delay. And a response that came while the generator did not
//! run is stamped late. Without both, a latency is what a punctual generator would have measured.
//! The distribution of that can be bounded without another stamp on each request. Let `n` requests
//! have been more than `d` late. Of the requests whose latency less their own delay is at most `x`,
//! at most `n` were that late, and the latency of all others is
//! at most `x + d`. So the value of rank `r` is at least the latency of rank `r - n`, less `d`,
//! for every `d`; the largest of these bounds is taken. One late request in a thousand therefore
//! hardly moves a median. Service time, from the send, is another bound: only late stamps are in
//! it.

use crate::dist::{ByDist, Dist};
use crate::histogram::{Histogram, Summary, rank_of};

/// Shares of a delay at which a bound is tried.
const TRIED: [f64; 8] = [0.5, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 1.0];

/// Share of a figure by which generator delay may move it.
const SHARE_MAX: f64 = 0.05;
/// Time by which generator delay may move a figure, nanoseconds.
const MOVED_MAX_NS: u64 = 50_000;

/// Whether the generator delay moved a figure by enough to matter: by more than 5 % and more than
/// 50 us.
pub fn is_moved(low_ns: u64, known_ns: u64) -> bool {
    let apart_ns = known_ns.saturating_sub(low_ns);
    apart_ns > MOVED_MAX_NS && apart_ns as f64 > SHARE_MAX * known_ns as f64
}

/// Distributions of one window.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// From the planned instant in open loop, from the send in closed loop.
    pub latency: &'a Histogram,
    /// From the send; empty in closed loop.
    pub service: &'a Histogram,
    /// From when a request could be sent to when it was sent; in closed loop only of those sent in
    /// a stalled turn, whose stamp is that of the start of the turn.
    pub generator_delay: &'a Histogram,
    /// How long late responses may have waited before they were stamped.
    pub unseen: &'a Histogram,
    /// Requests without a good response: they rank above all others.
    pub censored: u64,
}

impl<'a> Window<'a> {
    /// Those of a window in which so many requests had no good response.
    pub fn of(histograms: &'a ByDist<Histogram>, censored: u64) -> Self {
        Self {
            latency: &histograms[Dist::Latency],
            service: &histograms[Dist::Service],
            generator_delay: &histograms[Dist::GeneratorDelay],
            unseen: &histograms[Dist::Unseen],
            censored,
        }
    }
}

/// Lower bounds of the percentiles, the mean and the maximum that a punctual generator would have
/// seen. A percentile is absent where the latency itself is.
pub fn punctual(window: Window<'_>) -> Summary {
    let known = window.latency.summary(window.censored);
    let lower = |known_ns: Option<u64>, quantile: f64| {
        known_ns.map(|known_ns| ranked(window, quantile).min(known_ns))
    };
    let count = u128::from(window.latency.count().max(1));
    let (late, unseen) = (window.generator_delay.sum_ns(), window.unseen.sum_ns());
    let less = |times: &Histogram, late: u128| (times.sum_ns().saturating_sub(late) / count) as u64;
    let mean_ns = less(window.latency, late + unseen).max(less(window.service, unseen));
    Summary {
        min: None,
        mean: known.mean.map(|known_ns| mean_ns.min(known_ns)),
        stdev: None,
        p50: lower(known.p50, 0.5),
        p75: lower(known.p75, 0.75),
        p90: lower(known.p90, 0.9),
        p95: lower(known.p95, 0.95),
        p99: lower(known.p99, 0.99),
        p99_9: lower(known.p99_9, 0.999),
        p99_99: lower(known.p99_99, 0.9999),
        max: lower(known.max, 1.0),
        ..known
    }
}

/// The largest bound for a rank: from latency without both kinds of delay, and from service time
/// without late stamps.
fn ranked(window: Window<'_>, quantile: f64) -> u64 {
    let population = window.latency.count() + window.censored;
    let rank = rank_of(quantile, population);
    let (sends, stamps) = (thresholds(window.generator_delay), thresholds(window.unseen));
    let of_latency = sends.iter().flat_map(|(late_ns, later)| {
        let bound = move |(unseen_ns, unseen): &(u64, u64)| {
            at_rank(window.latency, rank, later + unseen, late_ns + unseen_ns)
        };
        stamps.iter().filter_map(bound)
    });
    let of_service = stamps
        .iter()
        .filter_map(|(unseen_ns, unseen)| at_rank(window.service, rank, *unseen, *unseen_ns));
    of_latency.chain(of_service).max().unwrap_or(0)
}

/// The value of rank `rank - later`, less `late_ns`.
fn at_rank(times: &Histogram, rank: u64, later: u64, late_ns: u64) -> Option<u64> {
    let rank = rank.checked_sub(later).filter(|rank| *rank > 0)?;
    let at_ns = times.value_at_rank(rank)?;
    Some(at_ns.saturating_sub(late_ns))
}

/// Delays to try, each with the number of requests that were later. Zero is one of them.
fn thresholds(generator_delay: &Histogram) -> Vec<(u64, u64)> {
    let at = |share: f64| {
        let late_ns = generator_delay.quantile_ns(share)?;
        Some((late_ns, generator_delay.count() - generator_delay.count_up_to(late_ns)))
    };
    let none = (0, generator_delay.count());
    std::iter::once(none).chain(TRIED.into_iter().filter_map(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Service time, send delay, wait for a connection, delay of the stamp.
    type Request = (u64, u64, u64, u64);

    /// Latency, service time, delay and late stamps of requests.
    fn histograms(requests: &[Request]) -> [Histogram; 4] {
        let mut all: [Histogram; 4] = Default::default();
        for (service_ns, late_ns, wait_ns, unseen_ns) in requests {
            all[0].record_n(service_ns + late_ns + wait_ns + unseen_ns, 1);
            all[1].record_n(service_ns + unseen_ns, 1);
            all[2].record_n(*late_ns, 1);
            if *unseen_ns > 0 {
                all[3].record_n(*unseen_ns, 1);
            }
        }
        all
    }

    fn of(requests: &[Request]) -> Summary {
        let [latency, service, generator_delay, unseen] = &histograms(requests);
        punctual(Window { latency, service, generator_delay, unseen, censored: 0 })
    }

    #[test]
    fn one_late_request_in_a_thousand_leaves_the_median() {
        // Half of the requests wait long for a connection, so service says little.
        let mut requests: Vec<_> =
            (0..10_000u64).map(|at| (5_000_000, 1_000, at % 1000 * 100_000, 0)).collect();
        requests.iter_mut().step_by(1000).for_each(|request| request.1 = 30_000_000);
        let bound_ns = of(&requests).p50.unwrap();
        let known_ns = histograms(&requests)[0].quantile_ns(0.5).unwrap();
        assert!(known_ns - bound_ns < 300_000, "{bound_ns} of {known_ns}");
    }

    #[test]
    fn without_waits_service_is_the_bound() {
        let requests: Vec<_> = (0..1000u64).map(|at| (1_000_000 + at, 500_000, 0, 0)).collect();
        let bound = of(&requests);
        assert!(bound.p50.unwrap() >= 1_000_000 && bound.p50.unwrap() < 1_002_000, "{bound:?}");
    }

    #[test]
    fn a_generator_that_stood_still_for_a_moment_leaves_the_median_of_a_closed_loop() {
        let mut requests: Vec<_> = (0..10_000u64).map(|at| (1_000_000 + at, 0, 0, 0)).collect();
        requests.iter_mut().take(50).for_each(|request| request.3 = 40_000_000);
        let [latency, _, generator_delay, unseen] = &histograms(&requests);
        let bound = punctual(Window {
            latency,
            service: latency,
            generator_delay: &Histogram::new(),
            unseen,
            censored: 0,
        });
        assert!(generator_delay.sum_ns() == 0 && bound.p50.unwrap() > 1_000_000, "{bound:?}");
        assert!(bound.p99.unwrap() > 1_000_000 && bound.max.unwrap() < 3_000_000, "{bound:?}");
    }

    proptest! {
        #[test]
        fn no_bound_exceeds_what_a_punctual_generator_would_have_seen(
            requests in proptest::collection::vec(
                (1u64..50_000_000, 0u64..20_000_000, 0u64..50_000_000,
                 prop_oneof![5 => Just(0u64), 1 => 1u64..30_000_000]), 30..400),
        ) {
            let bound = of(&requests);
            let mut truth: Vec<u64> =
                requests.iter().map(|(service_ns, _, wait_ns, _)| service_ns + wait_ns).collect();
            truth.sort_unstable();
            for (bound_ns, quantile) in
                [(bound.p50, 0.5), (bound.p75, 0.75), (bound.p90, 0.9), (bound.max, 1.0)]
            {
                let Some(bound_ns) = bound_ns else { continue };
                let rank = (quantile * truth.len() as f64).ceil() as usize;
                // Buckets are a thousandth wide, of a sum that may be many times the truth.
                let truth_ns = truth[rank - 1] as f64 * 1.003 + 300_000.0;
                prop_assert!(bound_ns as f64 <= truth_ns, "{bound_ns} > {truth_ns} at {quantile}");
            }
        }
    }
}
