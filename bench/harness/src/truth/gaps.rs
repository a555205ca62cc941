//! Compares gaps between arrivals with the requested distribution.

/// How far measured gaps are from the expected ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// The largest difference between the two distribution functions (Kolmogorov and Smirnov).
    pub distance: f64,
    /// The distance below which a perfect generator stays in 99 of 100 runs of this length.
    pub chance: f64,
}

/// The times between sorted arrivals.
pub fn between(arrivals_ns: &[u64]) -> Vec<u64> {
    arrivals_ns.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// How far gaps are from those of a Poisson process of a rate.
pub fn from_exponential(gaps_ns: &[u64], rate: f64) -> Option<Distance> {
    distance(gaps_ns, |gap_ns| 1.0 - (-gap_ns / 1e9 * rate).exp())
}

/// The Kolmogorov-Smirnov distance of gaps from a continuous distribution function.
fn distance(gaps_ns: &[u64], function: impl Fn(f64) -> f64) -> Option<Distance> {
    if gaps_ns.is_empty() {
        return None;
    }
    let mut sorted = gaps_ns.to_vec();
    sorted.sort_unstable();
    let count = sorted.len() as f64;
    let apart = sorted.iter().enumerate().map(|(index, gap_ns)| {
        let wanted = function(*gap_ns as f64);
        let (below, up_to) = (index as f64 / count, (index + 1) as f64 / count);
        (wanted - below).abs().max((up_to - wanted).abs())
    });
    // 1.628 is the 99 % point of Kolmogorov's distribution.
    Some(Distance { distance: apart.fold(0.0, f64::max), chance: 1.628 / count.sqrt() })
}

/// How far each gap is from the one gap of a fixed rate, in order of size.
pub fn from_fixed(gaps_ns: &[u64], rate: f64) -> Vec<u64> {
    let wanted_ns = 1e9 / rate;
    let mut apart: Vec<u64> =
        gaps_ns.iter().map(|gap_ns| (*gap_ns as f64 - wanted_ns).abs().round() as u64).collect();
    apart.sort_unstable();
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps at the middle of equally likely parts of the distribution: as even as gaps can be.
    fn even(count: u32, rate: f64) -> Vec<u64> {
        let part = |index: u32| (f64::from(index) + 0.5) / f64::from(count);
        (0..count).map(|index| (-(1.0 - part(index)).ln() / rate * 1e9) as u64).collect()
    }

    #[test]
    fn gaps_as_asked_are_near_and_others_are_not() {
        let near = from_exponential(&even(10_000, 1_000.0), 1_000.0).unwrap();
        assert!(near.distance < near.chance / 10.0, "{near:?}");
        assert!((near.chance - 0.01628).abs() < 1e-9);
        // A tenth too fast.
        let fast = from_exponential(&even(10_000, 1_100.0), 1_000.0).unwrap();
        assert!((0.03..0.04).contains(&fast.distance), "{fast:?}");
        // A metronome is not a Poisson process: all gaps are at 1 - 1/e.
        let fixed = from_exponential(&[1_000_000; 1_000], 1_000.0).unwrap();
        assert!((fixed.distance - 0.632).abs() < 1e-3, "{fixed:?}");
        assert_eq!(from_exponential(&[], 1.0), None);
    }

    #[test]
    fn fixed_gaps_are_compared_with_their_one_value() {
        assert_eq!(between(&[5, 7, 7, 20]), [2, 0, 13]);
        assert_eq!(from_fixed(&[1_000_000, 900_000, 1_000_007], 1_000.0), [0, 7, 100_000]);
    }
}
