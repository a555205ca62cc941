//! Random numbers that a seed repeats: splitmix64 (Steele, Lea and Flood 2014).

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed and a purpose; different purposes do not share numbers.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Self(seed);
        let salt = random.next();
        Self(salt ^ purpose.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `least` to `most`, both included. Multiplication instead of a remainder: the
    /// bias is below one in 2^64 times the range.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        let range = u128::from(most - least) + 1;
        least + ((u128::from(self.next()) * range) >> 64) as u64
    }
}
