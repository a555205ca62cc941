//! Random numbers that a seed reproduces: splitmix64 (Steele, Lea and Flood 2014).

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed and a purpose; different purposes do not share numbers.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Self(seed);
        let salt = random.draw();
        Self(salt ^ purpose.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The next 64 bits.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `least` to `most`, both included. Multiplication instead of a remainder: the
    /// bias is below one in 2^64 times the range.
    #[inline]
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        let range = u128::from(most - least) + 1;
        least + ((u128::from(self.draw()) * range) >> 64) as u64
    }

    /// A number from 0 to below 1, all equally likely.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number around 0 with variance 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_the_mean_and_the_variance_of_their_name() {
        let mut random = Random::new(1, 2);
        let drawn: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|value| value * value).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
