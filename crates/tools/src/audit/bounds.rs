//! Arithmetic over all values that round to the printed digits.

use model::audit::{Figure, Latencies};

/// The least and the largest value that something can have; neither is negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Least.
    pub low: f64,
    /// Largest; may be infinite.
    pub high: f64,
}

impl Range {
    /// The range of one value.
    pub fn of(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// The range of a figure.
    pub fn read(figure: &Figure) -> Self {
        Self { low: figure.low.max(0.0), high: figure.high.max(0.0) }
    }

    /// The range, wider by a share on both sides.
    pub fn wider(self, share: f64) -> Self {
        Self { low: self.low * (1.0 - share), high: self.high * (1.0 + share) }
    }

    /// Whether two ranges have no value in common.
    pub fn excludes(self, other: Self) -> bool {
        self.low > other.high || other.low > self.high
    }
}

impl std::ops::Mul for Range {
    type Output = Self;
    fn mul(self, by: Self) -> Self {
        Self { low: self.low * by.low, high: self.high * by.high }
    }
}

impl std::ops::Div for Range {
    type Output = Self;
    fn div(self, by: Self) -> Self {
        let high = if by.low > 0.0 { self.high / by.low } else { f64::INFINITY };
        Self { low: if by.high > 0.0 { self.low / by.high } else { 0.0 }, high }
    }
}

impl std::ops::Add for Range {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }
}

/// Share of the ranks by which definitions of a percentile differ if the count is not known.
const RANK_UNKNOWN: f64 = 0.005;

/// Share of the values by which the rank of a percentile may be off.
pub fn rank_slack(latency: &Latencies, values: Option<f64>) -> f64 {
    let counted = latency.samples.as_ref().map(|samples| samples.low).or(values);
    let of_definition = match counted {
        Some(values) if values >= 1.0 => 1.5 / values,
        _ => RANK_UNKNOWN,
    };
    latency.error_rank + of_definition
}

/// What a printed time can have been, given the step and the buckets in which values were kept.
pub fn range_of(latency: &Latencies, figure: &Figure) -> Range {
    let range = Range::read(figure).wider(latency.error_share);
    Range { low: (range.low - latency.step_s).max(0.0), high: range.high + latency.step_s }
}

/// The least mean that the percentiles allow: values above a percentile are at least as large.
pub fn mean_at_least(latency: &Latencies, values: Option<f64>) -> Option<f64> {
    let slack = rank_slack(latency, values);
    let (mut sum, mut below) = (0.0, 0.0_f64);
    for one in &latency.percentiles {
        let low = range_of(latency, &one.value).low.max(below);
        sum += (low - below) * (1.0 - one.share - slack).max(0.0);
        below = low;
    }
    (!latency.percentiles.is_empty()).then_some(sum)
}

/// The largest mean that the percentiles and the maximum allow.
pub fn mean_at_most(latency: &Latencies, values: Option<f64>) -> Option<f64> {
    let slack = rank_slack(latency, values);
    let max = range_of(latency, latency.max.as_ref()?).high;
    let (mut sum, mut reached) = (0.0, 0.0_f64);
    for one in &latency.percentiles {
        let share = (one.share - slack).max(reached);
        sum += range_of(latency, &one.value).high * (share - reached);
        reached = share;
    }
    (!latency.percentiles.is_empty()).then_some(sum + max * (1.0 - reached))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::audit::Percentile;

    fn latencies(shares: &[(f64, f64)], max: f64) -> Latencies {
        let percentile = |(share, value): &(f64, f64)| Percentile {
            share: *share,
            value: Figure::exact(*value, 1),
        };
        Latencies {
            percentiles: shares.iter().map(percentile).collect(),
            max: Some(Figure::exact(max, 1)),
            ..Latencies::default()
        }
    }

    #[test]
    fn percentiles_leave_a_least_and_a_largest_mean() {
        let latency = latencies(&[(0.5, 0.010), (0.99, 0.100)], 1.0);
        let many = Some(1e9);
        let low = mean_at_least(&latency, many).unwrap();
        let high = mean_at_most(&latency, many).unwrap();
        assert!((low - (0.010 * 0.5 + 0.090 * 0.01)).abs() < 1e-6, "{low}");
        assert!((high - (0.010 * 0.5 + 0.100 * 0.49 + 1.0 * 0.01)).abs() < 1e-6, "{high}");
        assert_eq!(mean_at_most(&latencies(&[], 1.0), many), None);
    }

    #[test]
    fn a_quotient_by_what_may_be_zero_has_no_end() {
        let quotient = Range::of(5.0) / Range { low: 0.0, high: 2.0 };
        assert_eq!(quotient, Range { low: 2.5, high: f64::INFINITY });
        assert!(Range::of(3.0).excludes(Range { low: 3.1, high: 4.0 }));
    }
}
