//! Medians and ranges over rounds.
//!
//! With seven rounds the median and the whole range are enough; an interval computed from them
//! would look more exact than it is.

/// A figure over the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub count: usize,
}

impl Spread {
    /// Of at least one value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        Some(Self { median, min, max, count })
    }

    /// The median with the range: `1.00 (0.90..1.10)`.
    pub fn show(&self, digits: usize) -> String {
        let Self { median, min, max, .. } = self;
        format!("{median:.digits$} ({min:.digits$}..{max:.digits$})")
    }

    /// Of ratios within rounds.
    pub fn of_ratios(above: &[Option<f64>], below: &[Option<f64>]) -> Option<Self> {
        Self::of(ratios(above, below))
    }
}

/// Ratios within rounds: rounds in which one of the two is missing do not count.
pub fn ratios(above: &[Option<f64>], below: &[Option<f64>]) -> Vec<f64> {
    let pairs = above.iter().zip(below);
    pairs.filter_map(|(above, below)| Some((*above)? / (*below)?)).collect()
}

/// An interval for the median that holds for any distribution: between two of the ordered values
/// (Hollander and Wolfe 1999, 3.6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// The probability that such an interval contains the median.
    pub coverage: f64,
}

impl Interval {
    /// The narrowest one that contains the median in 95 of 100 samples; the whole range if there
    /// are too few values for that.
    pub fn of_median(mut values: Vec<f64>) -> Option<Self> {
        const WANTED: f64 = 0.95;
        values.sort_by(f64::total_cmp);
        let count = values.len();
        // Probability that at most `cut` of all values lie on one side of the median.
        let (mut cut, mut chance) = (0, 0.5_f64.powi(count as i32));
        let mut term = chance;
        loop {
            let next = term * (count - cut) as f64 / (cut + 1) as f64;
            if cut + 1 >= count.div_ceil(2) || 1.0 - 2.0 * (chance + next) < WANTED {
                break;
            }
            (cut, chance, term) = (cut + 1, chance + next, next);
        }
        let (low, high) = (*values.get(cut)?, *values.get(count.checked_sub(1 + cut)?)?);
        Some(Self { low, high, coverage: 1.0 - 2.0 * chance })
    }
}

/// Pseudo-random numbers from a seed (splitmix64, Steele and others 2014).
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Puts things into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0]).unwrap().median, 3.0);
        let odd = spread(&[5.0, 1.0, 9.0]).unwrap();
        assert_eq!((odd.median, odd.min, odd.max, odd.count), (5.0, 1.0, 9.0, 3));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 9.0]).unwrap().median, 3.0);
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        let above = [Some(2.0), None, Some(9.0), Some(4.0)];
        let below = [Some(1.0), Some(5.0), Some(3.0), None];
        let spread = Spread::of_ratios(&above, &below).unwrap();
        assert_eq!((spread.median, spread.count), (2.5, 2));
        assert_eq!(Spread::of_ratios(&above[1..2], &below[1..2]), None);
    }

    #[test]
    fn an_interval_is_between_ordered_values() {
        let of = |count: u32| Interval::of_median((1..=count).rev().map(f64::from).collect());
        assert_eq!(of(0), None);
        let interval = of(9).unwrap();
        assert_eq!((interval.low, interval.high), (2.0, 8.0));
        assert!((interval.coverage - 0.9609).abs() < 1e-4, "{interval:?}");
        let few = of(3).unwrap();
        assert_eq!((few.low, few.high, few.coverage), (1.0, 3.0, 0.75));
        assert_eq!(of(1).unwrap().coverage, 0.0);
        let many = of(25).unwrap();
        assert_eq!((many.low, many.high), (8.0, 18.0));
    }

    #[test]
    fn an_order_follows_from_its_seed_and_keeps_all() {
        let order = |seed| {
            let mut things: Vec<u32> = (0..20).collect();
            Random::new(seed).shuffle(&mut things);
            things
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}
