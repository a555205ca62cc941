//! The few statistics that verdicts rest on, short enough to verify by reading.
//!
//! A series of rates is autocorrelated, so its mean is judged through batch means: batches long
//! enough to be nearly independent, and Student's t over them (Law and Kelton, Simulation
//! Modeling and Analysis, section 9.5.3).

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// Arithmetic mean; none for no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Unbiased variance; none for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// Standard deviation over mean; none if it has no meaning.
pub fn variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean > 0.0)?;
    Some(variance(values)?.sqrt() / mean)
}

/// Correlation of each value with the next; none for a constant or short series.
pub fn lag_one_correlation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 4)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (squares > 0.0).then(|| products / squares)
}

/// Means of consecutive batches of `length` values; an incomplete last batch is left out.
pub fn batch_means(values: &[f64], length: usize) -> Vec<f64> {
    values.chunks_exact(length.max(1)).filter_map(mean).collect()
}

/// The shortest batches, doubling, whose means are nearly uncorrelated, as long as at least five
/// batches remain.
pub fn independent_batches(values: &[f64]) -> Vec<f64> {
    let mut length = 1;
    loop {
        let means = batch_means(values, length);
        let correlated = lag_one_correlation(&means).is_some_and(|value| value > 0.1);
        if !correlated || values.len() / (2 * length) < 5 {
            return means;
        }
        length *= 2;
    }
}

/// The exact 95 % interval of the mean of a Poisson count (Garwood 1936).
pub fn count_interval(count: u64) -> (f64, f64) {
    let half = |share: f64, freedom: f64| {
        ChiSquared::new(freedom).map_or(f64::NAN, |of| of.inverse_cdf(share) / 2.0)
    };
    let count = count as f64;
    let low = if count > 0.0 { half(0.025, 2.0 * count) } else { 0.0 };
    (low, half(0.975, 2.0 * count + 2.0))
}

/// The 95 % interval of the mean of independent values; none for fewer than three.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 3 {
        return None;
    }
    let (mean, variance) = (mean(values)?, variance(values)?);
    let half = student_95(values.len() - 1) * (variance / values.len() as f64).sqrt();
    Some((mean - half, mean + half))
}

/// The value in the middle; for an even number of values the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let above = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { above } else { (sorted[middle - 1] + above) / 2.0 })
}

/// The narrowest pair of order statistics between which the median lies with 95 % or more, whatever
/// the distribution; none for fewer than six values (Conover, Practical Nonparametric Statistics,
/// section 3.2).
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    // Chance that at most `below` of the values are below the median, of terms in logarithms: half
    // to the power of 1075 is zero.
    let mut term = -std::f64::consts::LN_2 * count as f64;
    let (mut tail, mut cut) = (0.0, None);
    for below in 0..count / 2 {
        tail += term.exp();
        if tail > 0.025 {
            break;
        }
        cut = Some(below);
        term += ((count - below) as f64 / (below + 1) as f64).ln();
    }
    cut.map(|cut| (sorted[cut], sorted[count - 1 - cut]))
}

/// [`mean_interval`] of rates, which are never below 0.
pub fn rate_interval(rates: &[f64]) -> Option<(f64, f64)> {
    let (low, high) = mean_interval(rates)?;
    Some((low.max(0.0), high))
}

/// Beyond this many degrees of freedom Student's t is normal.
const FREEDOM_MAX: f64 = 1e6;

/// Student's distribution with this many degrees of freedom, one or more.
pub fn student(freedom: f64) -> StudentsT {
    let freedom = freedom.clamp(1.0, FREEDOM_MAX);
    StudentsT::new(0.0, 1.0, freedom).expect("a valid number of degrees of freedom")
}

/// The two-sided 95 % point of Student's t with this many degrees of freedom.
pub(crate) fn student_95(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        _ => student(freedom as f64).inverse_cdf(0.975),
    }
}

/// A place where the level of a series changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the second part.
    pub at: usize,
    /// Mean after over mean before.
    pub ratio: f64,
    /// Difference of the means in standard errors.
    pub score: f64,
}

/// The split, with at least `part_min` values on each side, at which the means differ most in
/// standard errors. The values should be nearly independent.
pub fn strongest_change(values: &[f64], part_min: usize) -> Option<ChangePoint> {
    let part_min = part_min.max(2);
    if values.len() < 2 * part_min {
        return None;
    }
    let at_split = |at: usize| {
        let (before, after) = values.split_at(at);
        let (mean_before, mean_after) = (mean(before)?, mean(after)?);
        let error = (variance(before)? / before.len() as f64
            + variance(after)? / after.len() as f64)
            .sqrt();
        let difference = (mean_after - mean_before).abs();
        let score = if error > 0.0 {
            difference / error
        } else if difference > 0.0 {
            f64::INFINITY
        } else {
            0.0
        };
        (mean_before > 0.0).then(|| ChangePoint { at, ratio: mean_after / mean_before, score })
    };
    (part_min..=values.len() - part_min)
        .filter_map(at_split)
        .max_by(|left, right| left.score.total_cmp(&right.score))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Noise around a level that changes at one place.
    fn noise(seed: u64, length: usize, level: impl Fn(usize) -> f64, spread: f64) -> Vec<f64> {
        let mut state = seed | 1;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..length)
            .map(|at| level(at) * (1.0 + spread * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)))
            .collect()
    }

    #[test]
    fn textbook_values() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert!((variance(&values).unwrap() - 32.0 / 7.0).abs() < 1e-12);
        let (low, high) = mean_interval(&values).unwrap();
        // t(7) = 2.365, s = 2.138, n = 8.
        assert!((high - low - 2.0 * 2.365 * 2.138 / 8f64.sqrt()).abs() < 0.002);
        assert_eq!(mean_interval(&values[..2]), None);
        assert_eq!(rate_interval(&[0.0, 0.0, 9.0]).map(|(low, _)| low), Some(0.0));
        assert!((student_95(usize::MAX) - 1.960).abs() < 5e-4);
        assert!((student_95(40) - 2.021).abs() < 5e-4 && (student_95(3) - 3.182).abs() < 5e-4);
    }

    #[test]
    fn the_median_has_the_interval_of_its_ranks() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(median(&values), Some(5.5));
        // Tables give ranks 2 and 9 for ten values, 1 and 6 for six.
        assert_eq!(median_interval(&values), Some((2.0, 9.0)));
        assert_eq!(median_interval(&values[..6]), Some((1.0, 6.0)));
        assert_eq!((median_interval(&values[..5]), median(&[])), (None, None));
        // Ranks computed with whole numbers.
        for (count, rank) in [(20, 5), (1074, 504), (1075, 504), (1076, 505), (5000, 2430)] {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            let ends = (f64::from(rank), f64::from(count - 1 - rank));
            assert_eq!(median_interval(&values), Some(ends), "{count}");
        }
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let covered = (0..1000)
            .filter(|seed| {
                let values = noise(seed * 7919 + 1, 20, |_| 100.0, 0.05);
                let (low, high) = mean_interval(&values).unwrap();
                low <= 100.0 && 100.0 <= high
            })
            .count();
        assert!((920..=975).contains(&covered), "{covered} of 1000");
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        let step = noise(3, 50, |at| if at < 20 { 100.0 } else { 110.0 }, 0.01);
        let change = strongest_change(&step, 5).unwrap();
        assert!(change.at.abs_diff(20) <= 1 && change.score > 10.0, "{change:?}");
        assert!((change.ratio - 1.1).abs() < 0.01);
        let false_alarms = (0..500)
            .filter(|seed| {
                let flat = noise(seed * 104_729 + 5, 50, |_| 100.0, 0.05);
                strongest_change(&flat, 10).unwrap().score > 4.5
            })
            .count();
        assert!(false_alarms <= 5, "{false_alarms} of 500");
    }

    #[test]
    fn correlated_values_are_put_in_longer_batches() {
        let slow: Vec<f64> = (0..80).map(|at| f64::from(at / 8 % 2) + 10.0).collect();
        assert!(independent_batches(&slow).len() <= 20);
        let alternating: Vec<f64> = (0..80).map(|at| f64::from(at % 2)).collect();
        assert_eq!(independent_batches(&alternating).len(), 80);
    }

    proptest! {
        #[test]
        fn nothing_panics(
            values in prop::collection::vec(0.0f64..1e9, 0..60),
            length in 0usize..10,
        ) {
            let _ = (mean_interval(&values), strongest_change(&values, length));
            let _ = (independent_batches(&values), batch_means(&values, length));
        }
    }
}
