//! Puts weighted targets in one order that keeps each in exact proportion and spreads it evenly.
//!
//! Target `i` with weight `w` is due at the times `(k + u) / w` for `k` below `w`, where `u` is its
//! own place between 0 and 1; the order is that of the due times. The places are spread evenly
//! over the targets and drawn from the seed. Equal weights keep the order of the file.

use model::random::Random;

/// Divides all weights by their greatest common divisor.
pub fn reduced(weights: &[u32]) -> Vec<u32> {
    let common = weights.iter().copied().fold(0, gcd).max(1);
    weights.iter().map(|weight| weight / common).collect()
}

fn gcd(left: u32, right: u32) -> u32 {
    if right == 0 { left } else { gcd(right, left % right) }
}

/// One cycle: target `i` occurs `weights[i]` times.
pub fn interleaved(weights: &[u32], seed: u64) -> Vec<u32> {
    let targets = weights.len();
    let mut places: Vec<usize> = (0..targets).collect();
    if weights.iter().any(|weight| *weight != weights[0]) {
        let mut random = Random::new(seed, 1);
        for at in (1..targets).rev() {
            places.swap(at, random.between(0, at as u64) as usize);
        }
    }
    let mut due: Vec<(f64, u32)> = Vec::new();
    for (target, (&weight, &place)) in weights.iter().zip(&places).enumerate() {
        let offset = (place as f64 + 0.5) / targets as f64;
        let at = |k: u32| (f64::from(k) + offset) / f64::from(weight);
        due.extend((0..weight).map(|k| (at(k), target as u32)));
    }
    due.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
    due.into_iter().map(|(_, target)| target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_weights_keep_the_order_of_the_file() {
        assert_eq!(interleaved(&[1, 1, 1, 1], 7), [0, 1, 2, 3]);
        assert_eq!(reduced(&[6, 9, 300]), [2, 3, 100]);
        assert_ne!(interleaved(&[1, 2, 3], 1), interleaved(&[1, 2, 3], 2), "the seed decides");
    }

    proptest! {
        #[test]
        fn a_cycle_is_exact_and_smooth(
            weights in prop::collection::vec(1u32..60, 1..12),
            seed in any::<u64>(),
        ) {
            let order = interleaved(&weights, seed);
            let total: u32 = weights.iter().sum();
            prop_assert_eq!(order.len(), total as usize);
            prop_assert_eq!(&order, &interleaved(&weights, seed));
            let mut sent = vec![0u32; weights.len()];
            for (at, target) in order.iter().enumerate() {
                sent[*target as usize] += 1;
                for (count, weight) in sent.iter().zip(&weights) {
                    let fair = f64::from(*weight) * (at + 1) as f64 / f64::from(total);
                    // At every moment the mix is right to within two requests.
                    prop_assert!((f64::from(*count) - fair).abs() <= 2.0, "{:?}", order);
                }
            }
            prop_assert_eq!(sent, weights);
        }
    }
}
