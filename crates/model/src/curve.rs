//! The planned rate of an open loop over time: constant, or legs that rise, fall and step.
//!
//! A curve is piecewise linear, so the number of requests planned until an instant is a quadratic
//! that can be inverted exactly: request number `x` is due when the integral of the
//! rate reaches `x`. Everything that spreads requests around the curve works on that integral.

use serde::{Deserialize, Serialize};

const NS_PER_S: f64 = 1e9;

/// A part of a curve: the rate goes in a straight line from one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// Length, nanoseconds.
    pub duration_ns: u64,
    /// Rate at its start, requests per second, at least zero.
    pub from: f64,
    /// Rate at its end, requests per second, at least zero.
    pub to: f64,
}

impl Leg {
    fn duration_s(&self) -> f64 {
        self.duration_ns as f64 / NS_PER_S
    }

    fn slope(&self) -> f64 {
        if self.duration_ns == 0 { 0.0 } else { (self.to - self.from) / self.duration_s() }
    }

    /// Requests planned in the first `t_s` seconds of the leg.
    fn planned(&self, t_s: f64) -> f64 {
        (self.from + self.slope() * t_s / 2.0) * t_s
    }

    /// Seconds into the leg after which `x` requests are planned.
    fn when_s(&self, x: f64) -> f64 {
        let root = (self.from * self.from + 2.0 * self.slope() * x).max(0.0).sqrt();
        // The solution of planned(t) = x in the form without cancellation.
        let below = self.from + root;
        if below > 0.0 { 2.0 * x / below } else { 0.0 }
    }
}

/// The planned rate over time, from the start of the measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Curve {
    legs: Vec<Leg>,
}

impl Curve {
    /// One rate that never ends, requests per second.
    pub fn constant(rate: f64) -> Self {
        Self { legs: vec![Leg { duration_ns: 0, from: rate, to: rate }] }
    }

    /// Legs one after the other; after the last one its final rate continues. At least one leg.
    pub fn of_legs(legs: Vec<Leg>) -> Self {
        assert!(!legs.is_empty(), "a curve has a leg");
        Self { legs }
    }

    /// A curve of this shape with every rate multiplied by `times`, which is at least zero.
    pub fn scaled(&self, times: f64) -> Self {
        let scaled = |leg: &Leg| Leg { from: leg.from * times, to: leg.to * times, ..*leg };
        Self { legs: self.legs.iter().map(scaled).collect() }
    }

    /// The legs.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// The rate, when it is the same throughout.
    pub fn constant_rate(&self) -> Option<f64> {
        let rate = self.first_rate();
        self.legs.iter().all(|leg| leg.from == rate && leg.to == rate).then_some(rate)
    }

    /// Rate at the start, requests per second.
    pub fn first_rate(&self) -> f64 {
        self.legs[0].from
    }

    /// Largest rate, requests per second.
    pub fn peak_rate(&self) -> f64 {
        self.legs.iter().map(|leg| leg.from.max(leg.to)).fold(0.0, f64::max)
    }

    /// Length of all legs, nanoseconds; 0 for a constant rate.
    pub fn duration_ns(&self) -> u64 {
        self.legs.iter().map(|leg| leg.duration_ns).sum()
    }

    /// Requests planned until `t_ns` after the start; a real number.
    pub fn planned_until(&self, t_ns: u64) -> f64 {
        let (mut planned, mut left_ns) = (0.0, t_ns);
        for leg in &self.legs {
            let inside_ns = left_ns.min(leg.duration_ns);
            planned += leg.planned(inside_ns as f64 / NS_PER_S);
            left_ns -= inside_ns;
        }
        planned + self.last_rate() * left_ns as f64 / NS_PER_S
    }

    /// Mean rate over the first `t_ns`, requests per second; that at the start when it is zero.
    pub fn mean_rate(&self, t_ns: u64) -> f64 {
        match t_ns {
            0 => self.first_rate(),
            _ => self.planned_until(t_ns) / (t_ns as f64 / NS_PER_S),
        }
    }

    fn last_rate(&self) -> f64 {
        self.legs.last().map_or(0.0, |leg| leg.to)
    }

    /// Walks along the curve from its start.
    pub fn walk(&self) -> Walk {
        Walk { leg: 0, begin_ns: 0, begin_x: 0.0 }
    }
}

/// A position on a curve, to find successive instants without starting again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walk {
    leg: usize,
    begin_ns: u64,
    begin_x: f64,
}

impl Walk {
    /// When `x` requests are planned, nanoseconds from the start; `None` when that many never are.
    /// `x` must not decrease from one call to the next.
    #[inline]
    pub fn when_ns(&mut self, curve: &Curve, x: f64) -> Option<u64> {
        while let Some(leg) = curve.legs.get(self.leg) {
            let end_x = self.begin_x + leg.planned(leg.duration_s());
            if x < end_x {
                let inside_ns = leg.when_s(x - self.begin_x) * NS_PER_S;
                return Some(self.begin_ns + (inside_ns.round() as u64).min(leg.duration_ns));
            }
            (self.leg, self.begin_x) = (self.leg + 1, end_x);
            self.begin_ns += leg.duration_ns;
        }
        let rate = curve.last_rate();
        let after_ns = (x - self.begin_x) / rate * NS_PER_S;
        // A clock in nanoseconds does not reach further.
        (rate > 0.0 && after_ns < 1e18).then(|| self.begin_ns + after_ns.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;

    fn leg(seconds: u64, from: f64, to: f64) -> Leg {
        Leg { duration_ns: seconds * S, from, to }
    }

    #[test]
    fn a_constant_rate_has_equal_gaps() {
        let curve = Curve::constant(2.5);
        let mut walk = curve.walk();
        let due: Vec<_> = (0..4).map(|n| walk.when_ns(&curve, f64::from(n)).unwrap()).collect();
        assert_eq!(due, [0, 400_000_000, 800_000_000, 1_200_000_000]);
        assert_eq!(curve.planned_until(20 * S), 50.0);
        assert_eq!((curve.constant_rate(), curve.duration_ns()), (Some(2.5), 0));
    }

    #[test]
    fn legs_follow_each_other_and_the_last_rate_goes_on() {
        let curve = Curve::of_legs(vec![leg(10, 0.0, 100.0), leg(10, 50.0, 50.0)]);
        assert_eq!(curve.planned_until(10 * S), 500.0);
        assert_eq!(curve.planned_until(20 * S), 1000.0);
        assert_eq!(curve.planned_until(30 * S), 1500.0);
        assert_eq!((curve.mean_rate(20 * S), curve.peak_rate()), (50.0, 100.0));
        let mut walk = curve.walk();
        // A rise from zero has a quarter of its requests in its first half.
        assert_eq!(walk.when_ns(&curve, 125.0), Some(5 * S));
        assert_eq!(walk.when_ns(&curve, 500.0), Some(10 * S));
        assert_eq!(walk.when_ns(&curve, 1100.0), Some(22 * S));
    }

    #[test]
    fn a_rise_from_zero_begins_at_once() {
        let curve = Curve::of_legs(vec![leg(10, 0.0, 100.0)]);
        assert_eq!(curve.walk().when_ns(&curve, 0.0), Some(0));
    }

    #[test]
    fn a_curve_that_ends_at_zero_asks_for_no_more() {
        let curve = Curve::of_legs(vec![leg(10, 100.0, 0.0)]);
        let mut walk = curve.walk();
        assert!(walk.when_ns(&curve, 499.0).is_some_and(|ns| ns < 10 * S));
        assert_eq!(walk.when_ns(&curve, 500.0), None);
    }

    fn curves() -> impl Strategy<Value = Curve> {
        let rate = prop_oneof![Just(0.0), 0.01f64..1e6];
        let leg = (0u64..20 * S, rate.clone(), rate).prop_map(|(duration_ns, from, to)| Leg {
            duration_ns,
            from,
            to,
        });
        prop::collection::vec(leg, 1..6).prop_map(Curve::of_legs)
    }

    proptest! {
        /// A request is due at the instant until which that many are planned.
        #[test]
        fn when_turns_planned_around(curve in curves(), parts in 1u32..50) {
            let total = curve.planned_until(curve.duration_ns());
            let (mut walk, mut last_ns) = (curve.walk(), 0);
            for part in 0..parts {
                let x = total * f64::from(part) / f64::from(parts);
                let Some(at_ns) = walk.when_ns(&curve, x) else { continue };
                prop_assert!(at_ns >= last_ns, "goes back from {last_ns} to {at_ns}");
                last_ns = at_ns;
                let error = (curve.planned_until(at_ns) - x).abs();
                // Half a nanosecond of rounding at the largest rate, and the rounding of doubles.
                prop_assert!(error <= curve.peak_rate() * 1e-9 + total * 1e-9, "{x}: {error}");
            }
        }
    }
}
