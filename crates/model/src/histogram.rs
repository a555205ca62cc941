//! Distribution of times in nanoseconds, three significant digits, constant memory.
//!
//! A value lands in a bucket whose width is at most one thousandth of the value, so every
//! percentile is right to 0.1 %. Count, minimum, maximum, mean and standard deviation are exact,
//! kept beside the buckets. Memory depends on the range (1 ns to one hour), never on how many
//! values were recorded.
//!
//! The buckets are those of HdrHistogram (<https://hdrhistogram.org>), so that logs can be
//! exchanged with every tool that reads its format.

pub mod sparse;

use crate::figure::{Figure, Statistic};
use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Serialize};

/// Largest distinct value, one hour; greater ones are recorded as this.
pub const VALUE_MAX_NS: u64 = 3_600 * 1_000_000_000;

/// A mergeable distribution of nanoseconds.
#[derive(Debug, Clone)]
pub struct Histogram {
    buckets: Hdr<u64>,
    sum: u128,
    sum_of_squares: f64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty distribution. The only place that allocates.
    pub fn new() -> Self {
        let buckets = Hdr::new_with_bounds(1, VALUE_MAX_NS, 3).expect("constant bounds are valid");
        Self { buckets, sum: 0, sum_of_squares: 0.0, min: u64::MAX, max: 0 }
    }

    /// A distribution read back from its buckets; nothing when their layout is another one. Mean
    /// and standard deviation then have the precision of the buckets.
    pub fn from_buckets(buckets: &Hdr<u64>) -> Option<Self> {
        let mut histogram = Self::new();
        if (buckets.sigfig(), buckets.low(), buckets.high()) != (3, 1, VALUE_MAX_NS) {
            return None;
        }
        for value in buckets.iter_recorded() {
            histogram.record_n(value.value_iterated_to(), value.count_at_value());
        }
        Some(histogram)
    }

    /// Adds `count` values of `value_ns`.
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        // A value that did not occur is not an extreme.
        if count == 0 {
            return;
        }
        let value_ns = value_ns.min(VALUE_MAX_NS);
        // Cannot fail: the value was clamped to the bounds given above.
        let _ = self.buckets.record_n(value_ns, count);
        self.sum += u128::from(value_ns) * u128::from(count);
        self.sum_of_squares += (value_ns as f64) * (value_ns as f64) * (count as f64);
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.buckets.add(&other.buckets).expect("bounds are equal");
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        if self.is_empty() {
            return;
        }
        self.buckets.reset();
        (self.sum, self.sum_of_squares, self.min, self.max) = (0, 0.0, u64::MAX, 0);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Exact sum of all values.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// The smallest value that at least a share `quantile` (0 to 1) of all values is not above, to
    /// 0.1 %; the least value for 0.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        self.value_at_rank(rank_of(quantile, self.count()))
    }

    /// The value at a rank, counted from 1 for the least, to 0.1 %; the ends are exact.
    pub fn value_at_rank(&self, rank: u64) -> Option<u64> {
        if self.is_empty() || rank <= 1 {
            return (!self.is_empty()).then_some(self.min);
        }
        // The buckets take a share, and multiply it by the count again. That of the rank itself
        // may come out above it, and is then rounded up to the next rank: 15 of 29. Half a rank
        // less cannot.
        let share = (rank as f64 - 0.5) / self.count() as f64;
        Some(self.buckets.value_at_quantile(share).clamp(self.min, self.max))
    }

    /// How many values are at most `value_ns`, to bucket precision.
    pub fn count_up_to(&self, value_ns: u64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.buckets.count_between(0, value_ns.min(VALUE_MAX_NS))
    }

    /// The buckets, for writers of the HdrHistogram formats.
    pub fn buckets(&self) -> &Hdr<u64> {
        &self.buckets
    }

    /// The figures of the record. `censored` is the number of values that count as greater than all
    /// recorded ones (requests that failed in any way or were never answered): they take part in
    /// the ranks, so that neither a cut tail nor fast failures make a percentile look better than
    /// it was.
    pub fn summary(&self, censored: u64) -> Summary {
        if self.is_empty() {
            return Summary { censored, ..Summary::default() };
        }
        let count = self.count();
        let mean = self.sum as f64 / count as f64;
        let variance = self.sum_of_squares / count as f64 - mean * mean;
        let population = count + censored;
        let percentile = |quantile: f64| {
            let supported = population as f64 * (1.0 - quantile) >= SAMPLES_BEYOND - 1e-6;
            let rank = rank_of(quantile, population);
            (supported && rank <= count).then(|| self.value_at_rank(rank)).flatten()
        };
        Summary {
            count,
            censored,
            min: Some(self.min),
            mean: Some(mean.round() as u64),
            stdev: Some(variance.max(0.0).sqrt().round() as u64),
            p50: percentile(0.5),
            p75: percentile(0.75),
            p90: percentile(0.9),
            p95: percentile(0.95),
            p99: percentile(0.99),
            p99_9: percentile(0.999),
            p99_99: percentile(0.9999),
            max: (censored == 0).then_some(self.max),
        }
    }
}

/// The rank of a percentile among `population` values: the least number of them that is at least
/// the share `quantile`, and at least 1; 0 when there are none.
pub fn rank_of(quantile: f64, population: u64) -> u64 {
    ((quantile * population as f64).ceil() as u64).max(population.min(1))
}

/// A percentile is given only when at least this many values lie beyond it.
pub const SAMPLES_BEYOND: f64 = 10.0;

impl Summary {
    /// Whether a percentile falls among the censored values, beyond all recorded ones.
    pub fn is_beyond(&self, quantile: f64) -> bool {
        let population = self.count.saturating_add(self.censored) as f64;
        let is_supported = population * (1.0 - quantile) >= SAMPLES_BEYOND - 1e-6;
        is_supported && (quantile * population).ceil() > self.count as f64
    }
}

/// A distribution in the record, all times in nanoseconds. A percentile is absent when fewer than
/// ten values lie beyond it, or when it falls among the censored ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Recorded values.
    pub count: u64,
    /// Values known only to lie beyond all recorded ones; they count in every rank.
    pub censored: u64,
    /// Smallest value.
    pub min: Option<u64>,
    /// Arithmetic mean.
    pub mean: Option<u64>,
    /// Population standard deviation.
    pub stdev: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 75th percentile.
    pub p75: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p99_9: Option<u64>,
    /// 99.99th percentile.
    pub p99_99: Option<u64>,
    /// Largest value.
    pub max: Option<u64>,
}

impl Summary {
    /// The value of a statistic.
    pub fn at(&self, statistic: Statistic) -> Option<u64> {
        match statistic {
            Statistic::Mean => self.mean,
            Statistic::P50 => self.p50,
            Statistic::P75 => self.p75,
            Statistic::P90 => self.p90,
            Statistic::P95 => self.p95,
            Statistic::P99 => self.p99,
            Statistic::P99_9 => self.p99_9,
            Statistic::P99_99 => self.p99_99,
            Statistic::Max => self.max,
        }
    }

    /// The value of a figure of times; nothing for any other figure.
    pub fn of(&self, figure: Figure) -> Option<u64> {
        self.at(figure.statistic()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record_n(value, 1);
        }
        histogram
    }

    #[test]
    fn an_empty_distribution_has_no_figures() {
        let summary = of(&[]).summary(0);
        assert_eq!(summary, Summary::default());
    }

    #[test]
    fn percentiles_need_ten_values_beyond_them() {
        let summary = of(&(1..=999).collect::<Vec<_>>()).summary(0);
        assert!(summary.p95.is_some());
        assert_eq!(summary.p99, None);
        let summary = of(&(1..=1000).collect::<Vec<_>>()).summary(0);
        assert_eq!(summary.p99, Some(990));
        assert_eq!(summary.p99_9, None);
    }

    #[test]
    fn censored_values_push_percentiles_up_and_out() {
        let histogram = of(&(1..=1000).collect::<Vec<_>>());
        let summary = histogram.summary(1000);
        assert_eq!(summary.p50, Some(1000), "half of the population is recorded");
        assert_eq!(summary.p75, None, "three quarters is not");
        assert_eq!((summary.count, summary.censored), (1000, 1000));
        assert!(summary.is_beyond(0.75) && !summary.is_beyond(0.5));
        assert!(!summary.is_beyond(0.999), "too few values, rather than too slow ones");
        assert_eq!(summary.max, None, "a censored value may be greater than all recorded ones");
        assert_eq!(histogram.summary(0).max, Some(1000));
    }

    #[test]
    fn values_beyond_an_hour_are_clamped_not_lost() {
        let histogram = of(&[u64::MAX]);
        assert_eq!(histogram.count(), 1);
        assert_eq!(histogram.quantile_ns(1.0), Some(VALUE_MAX_NS));
        let back = Histogram::from_buckets(histogram.buckets()).expect("they are ours");
        assert_eq!((back.count(), back.quantile_ns(1.0)), (1, Some(VALUE_MAX_NS)));
    }

    #[test]
    fn a_value_that_did_not_occur_is_no_extreme() {
        let mut histogram = Histogram::new();
        histogram.record_n(9_000, 0);
        histogram.clear();
        histogram.record_n(5, 1);
        histogram.record_n(1, 0);
        let summary = histogram.summary(0);
        assert_eq!((summary.min, summary.max), (Some(5), Some(5)));
    }

    #[test]
    fn clearing_forgets_everything() {
        let mut histogram = of(&[5, 7]);
        histogram.clear();
        assert_eq!(histogram.summary(0), Summary::default());
        histogram.record_n(9, 2);
        assert_eq!((histogram.count(), histogram.sum_ns()), (2, 18));
    }

    /// The share of a rank, multiplied by the count again, may be above the rank.
    #[test]
    fn a_percentile_is_the_value_at_its_rank_and_not_the_next() {
        for count in 20..=600u64 {
            let histogram = of(&(1..=count).collect::<Vec<_>>());
            assert_eq!(histogram.summary(0).p50, Some(count.div_ceil(2)), "of {count}");
            let ranks = (0..=count + 1).map(|rank| histogram.value_at_rank(rank));
            assert!(ranks.eq((0..=count + 1).map(|rank| Some(rank.clamp(1, count)))), "{count}");
        }
        assert_eq!(of(&[]).value_at_rank(1), None);
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth(
            mut values in prop::collection::vec(1u64..10_000_000_000, 1..300),
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            for quantile in [0.0, 0.25, 0.5, 0.9, 0.99, 1.0] {
                let rank = ((quantile * values.len() as f64).ceil() as usize).max(1);
                let exact = values[rank - 1] as f64;
                let shown = histogram.quantile_ns(quantile).unwrap() as f64;
                let error = (shown - exact).abs();
                prop_assert!(error <= exact * 0.001 + 1.0, "{quantile}: {shown} for {exact}");
            }
        }

        #[test]
        fn merging_is_recording_together(
            left in prop::collection::vec(1u64..1_000_000_000, 0..100),
            right in prop::collection::vec(1u64..1_000_000_000, 0..100),
        ) {
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let together = of(&left.iter().chain(&right).copied().collect::<Vec<_>>());
            prop_assert_eq!(merged.summary(0), together.summary(0));
            prop_assert_eq!(merged.sum_ns(), together.sum_ns());
        }
    }
}
