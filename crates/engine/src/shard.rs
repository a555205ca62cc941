//! Which worker owns which numbers of a load.
//!
//! The requests, connections and budgets of a load are numbered from 0 and all dealt out alike: in
//! rounds, in which each worker takes as many as its weight, spread over the round. A worker
//! derives its own numbers from the shares of the load alone, on any host, so the workers of many
//! hosts send what those of one host would send.

use model::fleet::{Part, Share, lowest_terms};
use std::sync::Arc;

/// The numbers of one worker: those at its places in each round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Its places in a round, in order; at least one.
    places: Arc<[u32]>,
    /// The worker of each place.
    owners: Arc<[u32]>,
    /// Its own number among all workers.
    worker: u32,
}

impl Shard {
    /// All numbers, for one worker.
    pub fn whole() -> Self {
        Self::of(&Share::alone(1), 0)
    }

    /// The numbers of worker `index` of a share.
    pub fn of(share: &Share, index: u32) -> Self {
        assert!(index < share.workers());
        Self::owned(&owners(share.parts()), share.first_worker() + index)
    }

    /// The numbers of each worker of a share, in order.
    pub fn all_of(share: &Share) -> Vec<Self> {
        let (owners, first) = (owners(share.parts()), share.first_worker());
        (first..first + share.workers()).map(|worker| Self::owned(&owners, worker)).collect()
    }

    /// All numbers of a share, as if its first worker had them all.
    pub fn all_together(share: &Share) -> Self {
        let (owners, worker) = (owners(share.parts()), share.first_worker());
        let here = worker..worker + share.workers();
        let places = (0..).zip(owners.iter()).filter(|(_, owner)| here.contains(owner));
        let places = places.map(|(place, _)| place).collect();
        Self { places, owners, worker }
    }

    fn owned(owners: &Arc<[u32]>, worker: u32) -> Self {
        let places = (0..).zip(owners.iter()).filter(|(_, owner)| **owner == worker);
        let places = places.map(|(place, _)| place).collect();
        Self { places, owners: Arc::clone(owners), worker }
    }

    /// The number of the worker among all workers of the load.
    pub fn worker(&self) -> u32 {
        self.worker
    }

    /// Its places in a round, in order.
    #[inline]
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Numbers of one round.
    #[inline]
    pub fn round(&self) -> u64 {
        self.owners.len() as u64
    }

    /// Which number its `nth` is, from 0.
    pub fn number(&self, nth: u64) -> u64 {
        let each = self.places.len() as u64;
        nth / each * self.round() + u64::from(self.places[(nth % each) as usize])
    }

    /// How many of the first `total` numbers are its own: exact, so that the counts of all workers
    /// add up to `total`.
    pub fn share(&self, total: u64) -> u64 {
        let (rounds, rest) = (total / self.round(), total % self.round());
        let in_rest = self.places.partition_point(|place| u64::from(*place) < rest);
        rounds * self.places.len() as u64 + in_rest as u64
    }

    /// How many of the first `total` numbers belong to workers before this one.
    pub fn before(&self, total: u64) -> u64 {
        let (rounds, rest) = (total / self.round(), total % self.round());
        let earlier =
            |owners: &[u32]| owners.iter().filter(|owner| **owner < self.worker).count() as u64;
        rounds * earlier(&self.owners) + earlier(&self.owners[..rest as usize])
    }
}

/// The owner of each place of a round. The places of a worker of weight `w` lie in the middle of
/// `w` equal parts of the round, as near as the others allow; where several workers compete for a
/// place, the first one gets it.
fn owners(parts: &[Part]) -> Arc<[u32]> {
    let parts = lowest_terms(parts);
    let weights = parts
        .iter()
        .flat_map(|part| std::iter::repeat_n(u64::from(part.weight), part.workers as usize));
    let wishes = (0u32..).zip(weights).flat_map(|(worker, weight)| {
        (0..weight).map(move |nth| (((2 * nth + 1) << 32) / (2 * weight), worker))
    });
    let mut wishes: Vec<(u64, u32)> = wishes.collect();
    wishes.sort_unstable();
    wishes.into_iter().map(|(_, worker)| worker).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The shards of all workers of a load that several hosts share.
    pub(crate) fn all_shards() -> impl Strategy<Value = Vec<Shard>> {
        let part = (1u32..6, 1u32..9).prop_map(|(workers, weight)| Part { workers, weight });
        prop::collection::vec(part, 1..6).prop_map(|parts| {
            let shares = Share::all(&parts).expect("parts of a load");
            shares.iter().flat_map(Shard::all_of).collect()
        })
    }

    proptest! {
        /// Every number belongs to exactly one worker.
        #[test]
        fn numbers_are_dealt_out_once(shards in all_shards(), total in 0u64..10_000) {
            let mut numbers: Vec<u64> = shards
                .iter()
                .flat_map(|shard| (0..shard.share(total)).map(|nth| shard.number(nth)))
                .collect();
            numbers.sort_unstable();
            prop_assert!(numbers.iter().copied().eq(0..total));
            let mut before = 0;
            for (worker, shard) in (0..).zip(&shards) {
                prop_assert_eq!((shard.worker(), shard.before(total)), (worker, before));
                before += shard.share(total);
            }
        }

        /// No worker is ahead or behind by more than one number plus its part of the others'.
        #[test]
        fn numbers_are_dealt_out_evenly(shards in all_shards(), total in 0u64..10_000) {
            for shard in &shards {
                let fair = total as f64 * shard.places().len() as f64 / shard.round() as f64;
                let off = (shard.share(total) as f64 - fair).abs();
                let allowed = 1.0 + shard.places().len() as f64 * shards.len() as f64
                    / shard.round() as f64;
                prop_assert!(off <= allowed, "{off} of {fair}, {allowed}");
            }
        }
    }

    #[test]
    fn equal_workers_take_turns() {
        for weight in [1, 7] {
            let share = Share::of(vec![Part { workers: 3, weight }; 2], 1).expect("a part");
            let together = Shard::all_together(&share);
            assert_eq!((together.places(), together.share(100)), (&[3, 4, 5][..], 49));
            for (index, shard) in (0..).zip(Shard::all_of(&share)) {
                assert_eq!((shard.places(), shard.round()), (&[3 + index][..], 6));
                assert_eq!(shard, Shard::of(&share, index));
            }
        }
    }

    #[test]
    fn weights_are_spread_over_the_round() {
        let parts = [Part { workers: 1, weight: 4 }, Part { workers: 2, weight: 2 }];
        assert_eq!(*owners(&parts), [0, 1, 2, 0]);
    }
}
