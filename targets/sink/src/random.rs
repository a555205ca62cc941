//! Random numbers, reproducible from a seed.
//!
//! SplitMix64 (Steele, Lea and Flood, 2014): one addition and three mixing steps, full period,
//! and any two seeds give unrelated sequences, so that each thread can use its number as a seed.

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence of one thread for one seed.
    pub fn new(seed: u64, thread: usize) -> Self {
        let mut random = Self { state: seed };
        random.state = random.bits() ^ (thread as u64).wrapping_mul(GOLDEN);
        random
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number in [0, 1), uniformly distributed.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed, thread| {
            let mut random = Random::new(seed, thread);
            [random.unit(), random.unit()]
        };
        assert_eq!(numbers(1, 0), numbers(1, 0));
        assert_ne!(numbers(1, 0), numbers(2, 0));
        assert_ne!(numbers(1, 0), numbers(1, 1));
    }

    #[test]
    fn numbers_fill_the_unit_evenly() {
        let mut random = Random::new(1, 0);
        let mut tenths = [0_u32; 10];
        for _ in 0..100_000 {
            tenths[(random.unit() * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (9_500..10_500).contains(count)), "{tenths:?}");
    }
}
