//! A distribution without its empty buckets, for sending it and for adding up many.
//!
//! A tenth of a second fills a few hundred of some thirty thousand buckets.

use super::{Histogram, VALUE_MAX_NS};

/// Values below this have a bucket each; above, a bucket is at most this part of a value.
const FINE: u64 = 1 << 11;
/// Buckets of each doubling of the value.
const BUCKETS_OF_DOUBLING: u64 = FINE / 2;
/// How far a sum of squares may be off when it was added up in another order.
const ROUNDING: f64 = 1e-6;

/// The number of the last bucket: that of [`VALUE_MAX_NS`].
pub const BUCKET_LAST: u32 = bucket_of(VALUE_MAX_NS);

/// The number of the bucket of a value, from 0.
#[inline]
pub const fn bucket_of(value_ns: u64) -> u32 {
    let doublings = (value_ns | (FINE - 1)).ilog2() as u64 - (FINE.ilog2() as u64 - 1);
    (doublings * BUCKETS_OF_DOUBLING + (value_ns >> doublings)) as u32
}

/// The least and the greatest value of a bucket, nanoseconds.
#[inline]
pub const fn values_of(bucket: u32) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < FINE {
        return (bucket, bucket);
    }
    let doublings = bucket / BUCKETS_OF_DOUBLING - 1;
    let least = (bucket - doublings * BUCKETS_OF_DOUBLING) << doublings;
    (least, least + (1 << doublings) - 1)
}

/// The filled buckets of a distribution, and the exact figures kept with them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sparse {
    buckets: Vec<(u32, u64)>,
    sum: u128,
    sum_of_squares: f64,
    min: u64,
    max: u64,
}

impl Sparse {
    /// Nothing when it is not a distribution: buckets must be in order and not empty, and the least
    /// and greatest value and both sums must be possible for such buckets.
    pub fn new(
        buckets: Vec<(u32, u64)>,
        (min, max): (u64, u64),
        (sum, sum_of_squares): (u128, f64),
    ) -> Option<Self> {
        let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else {
            return ((min, max, sum, sum_of_squares) == (0, 0, 0, 0.0)).then(Self::default);
        };
        let (first, last) = (first.0, last.0);
        let has_values = |value: u64, bucket: u32| {
            let (least, most) = values_of(bucket);
            (least..=most).contains(&value)
        };
        let is_inside = last <= BUCKET_LAST && has_values(min, first) && has_values(max, last);
        if !is_inside || min > max || max > VALUE_MAX_NS {
            return None;
        }
        let (mut next, mut least, mut count) = (0, 0, 0);
        for (bucket, values) in &buckets {
            if *bucket < next || *bucket > last || *values == 0 {
                return None;
            }
            next = *bucket + 1;
            least += u128::from(values_of(*bucket).0) * u128::from(*values);
            count += u128::from(*values);
        }
        // Each value is above the least of its bucket by less than this part of it.
        let most = least + least / u128::from(BUCKETS_OF_DOUBLING);
        let (all_min, all_max) = (u128::from(min) * count, u128::from(max) * count);
        let is_sum = (least.max(all_min)..=most.min(all_max)).contains(&sum);
        // The mean square lies between the square of the mean and the mean times the greatest
        // value.
        let (mean_square, exact) = (sum_of_squares / count as f64, sum as f64 / count as f64);
        let is_square = mean_square >= exact * exact * (1.0 - ROUNDING)
            && mean_square <= exact * max as f64 * (1.0 + ROUNDING);
        (is_sum && is_square).then_some(Self { buckets, sum, sum_of_squares, min, max })
    }

    /// Buckets by their number, with how many values they hold.
    pub fn buckets(&self) -> &[(u32, u64)] {
        &self.buckets
    }

    /// Least and greatest value; zeros when there are no values.
    pub fn extremes_ns(&self) -> (u64, u64) {
        (self.min, self.max)
    }

    /// Sum of all values and of their squares.
    pub fn sums(&self) -> (u128, f64) {
        (self.sum, self.sum_of_squares)
    }

    /// The smallest possible sum of values in such buckets, none of which is beyond the last.
    pub fn sum_least(buckets: &[(u32, u64)]) -> u128 {
        let least = |(bucket, count): &(u32, u64)| {
            u128::from(values_of((*bucket).min(BUCKET_LAST)).0) * u128::from(*count)
        };
        buckets.iter().map(least).sum()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}

/// A sum of many distributions. It allocates with the first that is not empty.
#[derive(Debug, Default)]
pub struct SparseSum {
    counts: Vec<u64>,
    sum: u128,
    sum_of_squares: f64,
    /// Least and greatest value.
    extremes_ns: Option<(u64, u64)>,
}

impl SparseSum {
    /// Adds a distribution.
    pub fn add(&mut self, part: &Sparse) {
        if part.is_empty() {
            return;
        }
        self.counts.resize(BUCKET_LAST as usize + 1, 0);
        for (bucket, count) in &part.buckets {
            self.counts[*bucket as usize] += count;
        }
        self.sum += part.sum;
        self.sum_of_squares += part.sum_of_squares;
        let (min, max) = self.extremes_ns.unwrap_or((part.min, part.max));
        self.extremes_ns = Some((min.min(part.min), max.max(part.max)));
    }

    /// The sum since the last call.
    pub fn take(&mut self) -> Sparse {
        let Some((min, max)) = self.extremes_ns.take() else { return Sparse::default() };
        let (first, last) = (bucket_of(min), bucket_of(max));
        let filled = (first..).zip(&mut self.counts[first as usize..=last as usize]);
        let taken = filled.filter(|(_, count)| **count > 0);
        let buckets = taken.map(|(bucket, count)| (bucket, std::mem::take(count))).collect();
        let (sum, sum_of_squares) = (std::mem::take(&mut self.sum), self.sum_of_squares);
        self.sum_of_squares = 0.0;
        Sparse { buckets, sum, sum_of_squares, min, max }
    }
}

impl Histogram {
    /// The distribution without its empty buckets.
    pub fn to_sparse(&self) -> Sparse {
        if self.is_empty() {
            return Sparse::default();
        }
        let recorded = self.buckets.iter_recorded();
        let bucket = |value: hdrhistogram::iterators::IterationValue<u64>| {
            (bucket_of(value.value_iterated_to()), value.count_at_value())
        };
        Sparse {
            buckets: recorded.map(bucket).collect(),
            sum: self.sum,
            sum_of_squares: self.sum_of_squares,
            min: self.min,
            max: self.max,
        }
    }

    /// Adds all values of another distribution.
    pub fn add_sparse(&mut self, other: &Sparse) {
        if other.is_empty() {
            return;
        }
        for (bucket, count) in &other.buckets {
            // Cannot fail: there is no bucket beyond the last.
            let _ = self.buckets.record_n(values_of(*bucket).0, *count);
        }
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_those_of_hdrhistogram() {
        let hdr = Histogram::new();
        let mut next = 0;
        for bucket in 0..=BUCKET_LAST {
            let (least, most) = values_of(bucket);
            assert_eq!(least, next, "without a gap");
            assert_eq!((bucket_of(least), bucket_of(most)), (bucket, bucket));
            assert_eq!(hdr.buckets().lowest_equivalent(most), least);
            assert_eq!(hdr.buckets().highest_equivalent(least), most);
            next = most + 1;
        }
        assert!(next > VALUE_MAX_NS);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let of = |buckets: &[(u32, u64)], extremes, sums| {
            Sparse::new(buckets.to_vec(), extremes, sums).is_some()
        };
        assert!(of(&[], (0, 0), (0, 0.0)) && of(&[(5, 2), (6, 1)], (5, 6), (16, 86.0)));
        assert!(!of(&[], (0, 1), (0, 0.0)) && !of(&[(5, 2)], (4, 5), (10, 50.0)));
        assert!(!of(&[(6, 1), (5, 2)], (5, 6), (16, 86.0)), "out of order");
        assert!(!of(&[(5, 0)], (5, 5), (0, 0.0)), "empty");
        assert!(!of(&[(5, 2)], (5, 5), (11, 50.0)) && !of(&[(5, 2)], (5, 5), (10, 51.0)));
        assert!(!of(&[(5, 2)], (5, 5), (10, f64::NAN)) && !of(&[(5, 2)], (5, 5), (10, -1.0)));
        assert!(!of(&[(BUCKET_LAST + 1, 1)], (u64::MAX, u64::MAX), (1, 1.0)));
        let all = vec![(BUCKET_LAST, u64::MAX); 1];
        assert!(Sparse::new(all, (0, 0), (0, 0.0)).is_none());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_without_the_empty_buckets(
            values in prop::collection::vec((0u64..2 * VALUE_MAX_NS, 1u64..1_000_000), 0..100),
            others in prop::collection::vec((0u64..100_000_000, 1u64..10), 0..100),
        ) {
            let of = |values: &[(u64, u64)]| {
                let mut histogram = Histogram::new();
                values.iter().for_each(|(value, count)| histogram.record_n(*value, *count));
                histogram
            };
            let (whole, other) = (of(&values), of(&others));
            let sparse = whole.to_sparse();
            let again = Sparse::new(sparse.buckets.clone(), sparse.extremes_ns(), sparse.sums());
            prop_assert_eq!(again.as_ref(), Some(&sparse));
            let (mut merged, mut added) = (other.clone(), other);
            merged.merge(&whole);
            added.add_sparse(&sparse);
            prop_assert_eq!(merged.buckets(), added.buckets());
            prop_assert_eq!(merged.summary(3), added.summary(3));
            prop_assert_eq!(merged.sum_ns(), added.sum_ns());
            prop_assert_eq!(merged.to_sparse(), added.to_sparse());
            let mut sum = SparseSum::default();
            for _ in 0..2 {
                sum.add(&sparse);
                sum.add(&sparse);
                let mut twice = whole.clone();
                twice.merge(&whole);
                prop_assert_eq!(sum.take(), twice.to_sparse());
            }
            prop_assert_eq!(sum.take(), Sparse::default());
        }
    }
}
