//! When a response is due, from when its request arrived. Pure: no clock, no sleeping.
//!
//! A delay counts from the arrival of the request, not from when the loop processed it, so that a
//! perfect client measures the record of the sink plus the network time both ways.

use std::str::FromStr;

use crate::quantity::{share, time_ns, unfit};
use crate::random::Random;

/// How long requests wait for their responses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// No delay.
    None,
    /// Always this long: `fixed:1ms`.
    Fixed {
        /// The delay.
        ns: u64,
    },
    /// Exponentially distributed: `exp:1ms`.
    Exponential {
        /// The mean.
        mean_ns: u64,
    },
    /// Equally likely between two bounds: `uniform:1ms..5ms`.
    Uniform {
        /// The lower bound.
        low_ns: u64,
        /// The upper bound.
        high_ns: u64,
    },
    /// One of two: `bimodal:1ms,20ms@10%`.
    Bimodal {
        /// The delay of most requests.
        usual_ns: u64,
        /// The delay of the others.
        other_ns: u64,
        /// The share of the others, 0 to 1.
        other_share: f64,
    },
    /// Each period starts with a stall in which no response is sent: `stall:100ms/1s`.
    Stall {
        /// How long the stall takes.
        length_ns: u64,
        /// From the start of one stall to the start of the next.
        period_ns: u64,
    },
}

impl Delay {
    /// When the response to a request that arrived at `arrival_ns` is due. Stalls are counted from
    /// `start_ns`.
    #[inline]
    pub fn due_ns(&self, arrival_ns: u64, start_ns: u64, random: &mut Random) -> u64 {
        arrival_ns
            + match *self {
                Self::None => 0,
                Self::Fixed { ns } => ns,
                // 1 - unit is never 0, so the logarithm is finite: at most 37 times the mean.
                Self::Exponential { mean_ns } => {
                    (-(1.0 - random.unit()).ln() * mean_ns as f64) as u64
                }
                Self::Uniform { low_ns, high_ns } => {
                    low_ns + (random.unit() * (high_ns - low_ns + 1) as f64) as u64
                }
                Self::Bimodal { usual_ns, other_ns, other_share } => {
                    if random.unit() < other_share { other_ns } else { usual_ns }
                }
                Self::Stall { length_ns, period_ns } => {
                    let into_ns = arrival_ns.saturating_sub(start_ns) % period_ns;
                    length_ns.saturating_sub(into_ns)
                }
            }
    }
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (shape, value) = text.split_once(':').ok_or_else(unfit)?;
        let delay = match shape {
            "fixed" => fixed(value),
            "exp" => exponential(value),
            "uniform" => uniform(value),
            "bimodal" => bimodal(value),
            "stall" => stall(value),
            _ => None,
        };
        delay.ok_or_else(unfit)
    }
}

fn fixed(value: &str) -> Option<Delay> {
    Some(Delay::Fixed { ns: time_ns(value)? })
}

fn exponential(value: &str) -> Option<Delay> {
    Some(Delay::Exponential { mean_ns: time_ns(value)? })
}

fn uniform(value: &str) -> Option<Delay> {
    let (low, high) = value.split_once("..")?;
    let (low_ns, high_ns) = (time_ns(low)?, time_ns(high)?);
    (low_ns <= high_ns).then_some(Delay::Uniform { low_ns, high_ns })
}

fn bimodal(value: &str) -> Option<Delay> {
    let (usual, other) = value.split_once(',')?;
    let (other, other_share) = other.split_once('@')?;
    Some(Delay::Bimodal {
        usual_ns: time_ns(usual)?,
        other_ns: time_ns(other)?,
        other_share: share(other_share)?,
    })
}

fn stall(value: &str) -> Option<Delay> {
    let (length, period) = value.split_once('/')?;
    let (length_ns, period_ns) = (time_ns(length)?, time_ns(period)?);
    (length_ns < period_ns).then_some(Delay::Stall { length_ns, period_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn delays(text: &str, count: usize) -> Vec<u64> {
        let delay: Delay = text.parse().unwrap();
        let mut random = Random::new(1, 0);
        (0..count).map(|_| delay.due_ns(7, 0, &mut random) - 7).collect()
    }

    fn mean(values: &[u64]) -> f64 {
        values.iter().sum::<u64>() as f64 / values.len() as f64
    }

    #[test]
    fn fixed_is_always_the_same() {
        assert!(delays("fixed:5ms", 100).iter().all(|&ns| ns == 5 * MS));
    }

    #[test]
    fn exponential_has_its_mean_its_median_and_its_tail() {
        let mut values = delays("exp:1ms", 200_000);
        assert!((mean(&values) / 1e6 - 1.0).abs() < 0.01, "{}", mean(&values));
        values.sort_unstable();
        let at = |quantile: f64| values[(quantile * values.len() as f64) as usize] as f64 / 1e6;
        assert!((at(0.5) - 2_f64.ln()).abs() < 0.01);
        assert!((at(0.99) - 100_f64.ln()).abs() < 0.1);
    }

    #[test]
    fn uniform_fills_its_range() {
        let values = delays("uniform:1ms..5ms", 100_000);
        assert!(values.iter().all(|ns| (MS..=5 * MS).contains(ns)));
        assert!((mean(&values) / 3e6 - 1.0).abs() < 0.01);
        assert!(values.iter().any(|&ns| ns < MS + MS / 100));
        assert!(values.iter().any(|&ns| ns > 5 * MS - MS / 100));
        assert_eq!(delays("uniform:3ms..3ms", 2), [3 * MS, 3 * MS]);
    }

    #[test]
    fn bimodal_gives_each_share_its_delay() {
        let values = delays("bimodal:1ms,20ms@10%", 100_000);
        let slow = values.iter().filter(|&&ns| ns == 20 * MS).count();
        assert!((9_500..10_500).contains(&slow), "{slow}");
        assert_eq!(values.iter().filter(|&&ns| ns == MS).count(), values.len() - slow);
    }

    #[test]
    fn a_stall_responds_at_its_end_and_others_at_once() {
        let stall: Delay = "stall:100ms/1s".parse().unwrap();
        let start_ns = 123_456_789;
        let mut random = Random::new(1, 0);
        let mut due_ms = |after_ms: u64| {
            let arrival_ns = start_ns + after_ms * MS;
            (stall.due_ns(arrival_ns, start_ns, &mut random) - start_ns) / MS
        };
        assert_eq!(due_ms(0), 100, "the first period begins with a stall");
        assert_eq!(due_ms(99), 100);
        assert_eq!(due_ms(100), 100);
        assert_eq!(due_ms(101), 101);
        assert_eq!(due_ms(999), 999);
        assert_eq!(due_ms(1_000), 1_100);
        assert_eq!(due_ms(7_050), 7_100);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for wrong in [
            "",
            "fixed",
            "fixed:",
            "fixed:1",
            "normal:1ms",
            "uniform:5ms..1ms",
            "uniform:5ms",
            "bimodal:1ms,2ms",
            "bimodal:1ms@10%",
            "stall:1s/1s",
            "stall:1s/100ms",
            "stall:0ms/0ms",
        ] {
            assert!(wrong.parse::<Delay>().is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn no_response_is_due_before_its_request(
            shape in prop::sample::select(vec![
                "fixed:0ns", "exp:3ms", "uniform:0ns..1h", "bimodal:0s,1s@50%", "stall:1ms/3ms",
            ]),
            arrival_ns in 0_u64..1 << 62,
            start_ns in 0_u64..1 << 62,
            seed: u64,
        ) {
            if let Ok(delay) = shape.parse::<Delay>() {
                let due_ns = delay.due_ns(arrival_ns, start_ns, &mut Random::new(seed, 0));
                prop_assert!(due_ns >= arrival_ns);
                prop_assert!(due_ns - arrival_ns <= 37 * crate::quantity::TIME_MAX_NS);
            }
        }
    }
}
