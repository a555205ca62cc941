//! When requests of an open loop are due: one schedule, of which each worker takes its share.
//!
//! Requests have numbers, and each number belongs to one worker ([`crate::shard`]). Every worker
//! walks the whole schedule and keeps its own numbers, so the number of workers and hosts does not
//! change when requests are due. Random gaps are drawn from the number alone, on the scale on which
//! the curve asks for one request per unit (time rescaling; Daley and Vere-Jones, An Introduction
//! to the Theory of Point Processes, 7.4).
//!
//! Hot: runs for every request of an open loop.

use crate::shard::Shard;
use model::curve::{Curve, Walk};
use model::load::Spacing;
use std::sync::Arc;

/// The due instants of one worker, in order, nanoseconds from the start.
#[derive(Debug, Clone)]
pub struct Schedule {
    curve: Arc<Curve>,
    walk: Walk,
    spacing: Spacing,
    seed: u64,
    shard: Shard,
    /// The first number of the current round.
    round_begin: u64,
    /// Index of this worker's next place in the round.
    nth: usize,
    /// The first number whose gap has not been drawn.
    number: u64,
    /// Where the last number lies on the scale of one request per unit.
    at: f64,
    last_ns: u64,
}

impl Schedule {
    /// The due instants of the worker that `shard` belongs to.
    pub fn new(curve: &Arc<Curve>, spacing: Spacing, seed: u64, shard: Shard) -> Self {
        Self {
            curve: Arc::clone(curve),
            walk: curve.walk(),
            spacing,
            seed,
            shard,
            round_begin: 0,
            nth: 0,
            number: 0,
            at: 0.0,
            last_ns: 0,
        }
    }

    /// When the next request is due; `None` when there are no more.
    #[inline]
    pub fn next_ns(&mut self) -> Option<u64> {
        let x = self.next_place();
        let due_ns = self.walk.when_ns(&self.curve, x)?;
        self.last_ns = self.last_ns.max(due_ns);
        Some(self.last_ns)
    }

    /// The place of this worker's next request on the scale of one request per unit.
    #[inline]
    fn next_place(&mut self) -> f64 {
        let mine = self.next_number();
        if self.spacing == Spacing::Fixed {
            return mine as f64;
        }
        while self.number <= mine {
            let share = unit_interval(self.seed, self.number);
            self.at += match self.spacing {
                Spacing::Poisson => -(1.0 - share).ln(),
                Spacing::Uniform | Spacing::Fixed => 2.0 * share,
            };
            self.number += 1;
        }
        self.at
    }

    /// The number of this worker's next request.
    #[inline]
    fn next_number(&mut self) -> u64 {
        let places = self.shard.places();
        let mine = self.round_begin + u64::from(places[self.nth]);
        self.nth += 1;
        if self.nth == places.len() {
            (self.nth, self.round_begin) = (0, self.round_begin + self.shard.round());
        }
        mine
    }
}

/// A number in 0..1 that depends on the seed and on `n` alone (splitmix64; Steele, Lea and Flood,
/// Fast Splittable Pseudorandom Number Generators, 2014).
#[inline]
fn unit_interval(seed: u64, n: u64) -> f64 {
    let mut mixed = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::tests::all_shards;
    use model::curve::Leg;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;
    const SPACINGS: [Spacing; 3] = [Spacing::Fixed, Spacing::Poisson, Spacing::Uniform];

    fn until(mut schedule: Schedule, end_ns: u64) -> Vec<u64> {
        std::iter::from_fn(|| schedule.next_ns()).take_while(|due_ns| *due_ns < end_ns).collect()
    }

    fn shapes() -> impl Strategy<Value = Curve> {
        let rate = || prop_oneof![Just(0.0), 1.0f64..5_000.0];
        let leg = (1u64..3 * S, rate(), rate()).prop_map(|(duration_ns, from, to)| Leg {
            duration_ns,
            from,
            to,
        });
        prop_oneof![
            (0.1f64..20_000.0).prop_map(Curve::constant),
            prop::collection::vec(leg, 1..5).prop_map(Curve::of_legs),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Due instants never decrease, and there are as many as the curve asks for: exactly for
        /// equal gaps, within six standard deviations for random ones.
        #[test]
        fn instants_are_in_order_and_add_up(curve in shapes(), seed: u64, end_ns in 1u64..3 * S) {
            let asked = curve.planned_until(end_ns);
            let curve = Arc::new(curve);
            for spacing in SPACINGS {
                let due = until(Schedule::new(&curve, spacing, seed, Shard::whole()), end_ns);
                prop_assert!(due.is_sorted());
                let off = (due.len() as f64 - asked).abs();
                let allowed = match spacing {
                    // Number 0 is due at the start; rounding may move an instant across the end.
                    Spacing::Fixed => 1.0 + curve.peak_rate() * 1e-9,
                    Spacing::Poisson | Spacing::Uniform => 6.0 * asked.sqrt() + 6.0,
                };
                prop_assert!(off <= allowed, "{spacing:?}: {} for {asked}", due.len());
            }
        }

        /// Any number of workers, on any number of hosts and with any weights, have together the
        /// same due instants.
        #[test]
        fn sharding_changes_nothing(curve in shapes(), seed: u64, shards in all_shards()) {
            let curve = Arc::new(curve);
            for spacing in SPACINGS {
                let due = |shard: &Shard| {
                    until(Schedule::new(&curve, spacing, seed, shard.clone()), S)
                };
                let mut all: Vec<_> = shards.iter().flat_map(due).collect();
                all.sort_unstable();
                prop_assert_eq!(all, due(&Shard::whole()));
            }
        }
    }

    #[test]
    fn a_whole_number_of_requests_is_exact() {
        for (rate, seconds, planned) in [(1000.0, 20, 20_000), (33.3, 30, 999), (0.3, 10, 3)] {
            let curve = Arc::new(Curve::constant(rate));
            let due = until(Schedule::new(&curve, Spacing::Fixed, 1, Shard::whole()), seconds * S);
            assert_eq!(due.len(), planned, "{rate}/s for {seconds} s");
        }
    }

    #[test]
    fn gaps_have_the_asked_distribution() {
        let curve = Arc::new(Curve::constant(1000.0));
        let gaps = |spacing| {
            let due = until(Schedule::new(&curve, spacing, 7, Shard::whole()), 50 * S);
            let gap = |pair: &[u64]| (pair[1] - pair[0]) as f64 / 1e6;
            let mut gaps: Vec<f64> = due.windows(2).map(gap).collect();
            gaps.sort_by(f64::total_cmp);
            gaps
        };
        // Kolmogorov-Smirnov distance; 50,000 gaps stay under 0.0088 in 999 of 1000 cases.
        let distance = |gaps: &[f64], share: fn(f64) -> f64| {
            let count = gaps.len() as f64;
            let apart = |(at, gap): (usize, &f64)| (share(*gap) - at as f64 / count).abs();
            gaps.iter().enumerate().map(apart).fold(0.0, f64::max)
        };
        let poisson = distance(&gaps(Spacing::Poisson), |gap| 1.0 - (-gap).exp());
        let uniform = distance(&gaps(Spacing::Uniform), |gap| (gap / 2.0).min(1.0));
        assert!(poisson < 0.009 && uniform < 0.009, "{poisson} {uniform}");
        let fixed = gaps(Spacing::Fixed);
        assert_eq!((fixed[0], fixed[fixed.len() - 1]), (1.0, 1.0));
    }

    #[test]
    fn another_seed_is_another_schedule() {
        let curve = Arc::new(Curve::constant(1000.0));
        let of = |seed| until(Schedule::new(&curve, Spacing::Poisson, seed, Shard::whole()), S);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    /// Two visits whose gaps were the same but for a shift would be one sample and not two.
    #[test]
    fn no_visit_has_the_gaps_of_another_one_a_few_requests_later() {
        let shares = |seed, load| -> Vec<f64> {
            let seed = crate::seed_of_visit(seed, load);
            (0..200).map(|number| unit_interval(seed, number)).collect()
        };
        for seed in [0, 1, 2, 42, u64::MAX] {
            let visits: Vec<_> = (0..12).map(|load| shares(seed, load)).collect();
            for (nth, one) in visits.iter().enumerate() {
                let others = &visits[nth + 1..];
                let is_shared = |share: &f64| others.iter().any(|other| other.contains(share));
                assert!(!one.iter().any(is_shared), "seed {seed}, visit {nth}");
            }
        }
    }
}
