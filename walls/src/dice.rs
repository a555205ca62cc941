//! Random parameters of a draw. The same seed, scenario and draw give the same parameters, whatever
//! else is drawn: each parameter has its own stream.

use std::collections::BTreeMap;

/// Draws parameters and remembers them by name.
#[derive(Debug, Clone)]
pub struct Dice {
    seed: u64,
    /// How many times longer a server sleeps whose limit must be reached before that of its host.
    pub patience: f64,
    drawn: BTreeMap<String, f64>,
}

impl Dice {
    /// The dice of one draw.
    pub fn new(seed: u64, scenario: &str, draw: u32) -> Self {
        let seed = mix(seed ^ text(scenario)).wrapping_add(draw.into());
        Self { seed, patience: 1.0, drawn: BTreeMap::new() }
    }

    /// A number from a range, uniformly distributed.
    pub fn real(&mut self, name: &str, from: f64, to: f64) -> f64 {
        let unit = mix(self.seed ^ mix(text(name))) as f64 / u64::MAX as f64;
        // Three digits, so that the value is easy to copy by hand.
        let value = ((from + (to - from) * unit) * 1000.0).round() / 1000.0;
        self.drawn.insert(name.to_owned(), value);
        value
    }

    /// A whole number from a range, both ends included.
    pub fn whole(&mut self, name: &str, from: u32, to: u32) -> u32 {
        let value = (self.real(name, f64::from(from), f64::from(to) + 1.0) as u32).min(to);
        self.drawn.insert(name.to_owned(), f64::from(value));
        value
    }

    /// The drawn parameters.
    pub fn drawn(self) -> BTreeMap<String, f64> {
        self.drawn
    }
}

/// The finaliser of SplitMix64.
fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn text(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_depend_on_seed_scenario_draw_and_name_and_on_nothing_else() {
        let draw = |seed, scenario, draw, names: &[&str]| {
            let mut dice = Dice::new(seed, scenario, draw);
            for name in names {
                dice.real(name, 0.0, 1.0);
            }
            dice.drawn()
        };
        let one = draw(1, "pool", 0, &["a", "b"]);
        assert_eq!(one, draw(1, "pool", 0, &["b", "a"]));
        assert_eq!(one["a"], draw(1, "pool", 0, &["a"])["a"]);
        for other in [draw(2, "pool", 0, &["a"]), draw(1, "lock", 0, &["a"])] {
            assert_ne!(one["a"], other["a"]);
        }
        assert_ne!(one["a"], draw(1, "pool", 1, &["a"])["a"]);
        assert_ne!(one["a"], one["b"]);
    }

    #[test]
    fn every_whole_number_of_a_range_comes() {
        let mut dice = Dice::new(3, "x", 0);
        let mut seen: Vec<_> = (0..200).map(|n| dice.whole(&n.to_string(), 2, 5)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [2, 3, 4, 5]);
    }
}
