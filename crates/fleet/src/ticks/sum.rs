//! Sums sparse ticks into one tick of the engine.

use super::SparseTick;
use model::dist::ByDist;
use model::histogram::sparse::SparseSum;
use model::order::OrderBy as _;
use model::sample::{CAUGHT_MAX, Caught};
use model::tick::{Connections, Phase, Tick};

/// A sum of ticks of one interval. Its memory is allocated once, at the first use.
#[derive(Debug, Default)]
pub struct TickSum {
    tick: Option<Box<Tick>>,
    distributions: Box<ByDist<SparseSum>>,
    begins_ns: u128,
    ends_ns: u128,
    added: u64,
}

impl TickSum {
    /// Adds a tick, except its connections.
    pub fn add(&mut self, part: &SparseTick) {
        let tick = self.tick.get_or_insert_default();
        part.add_counts_to(tick);
        for (sum, part) in self.distributions.iter_mut().zip(part.histograms.iter()) {
            sum.add(part);
        }
        keep_first_of_each_kind(&mut tick.caught);
        self.begins_ns += u128::from(part.begin_ns);
        self.ends_ns += u128::from(part.end_ns);
        self.added += 1;
    }

    /// How many ticks were added.
    pub fn added(&self) -> u64 {
        self.added
    }

    /// The sum as one tick, with these connections. Its interval is the mean of the intervals of
    /// its parts, so that integrals over time keep their meaning.
    pub fn tick(&mut self, load: u32, phase: Phase, connections: Connections) -> &mut Tick {
        let parts = u128::from(self.added.max(1));
        let tick = self.tick.get_or_insert_default();
        for (whole, sum) in tick.histograms.iter_mut().zip(self.distributions.iter_mut()) {
            whole.add_sparse(&sum.take());
        }
        (tick.load, tick.phase) = (load, phase);
        tick.begin_ns = (self.begins_ns / parts) as u64;
        tick.end_ns = (self.ends_ns / parts) as u64;
        tick.connections = connections;
        tick
    }

    /// Empties the sum, and keeps its memory.
    pub fn clear(&mut self) {
        self.distributions.iter_mut().for_each(|sum| drop(sum.take()));
        self.tick.iter_mut().for_each(|tick| tick.clear());
        (self.begins_ns, self.ends_ns, self.added) = (0, 0, 0);
    }
}

/// Keeps only the first response of each kind of failure, up to a limit.
fn keep_first_of_each_kind(caught: &mut Vec<Caught>) {
    let kind = |one: &Caught| {
        let (status, check, fault) = one.kind();
        (status, check.map(|check| check as u8), fault.map(|fault| fault as u8))
    };
    caught.order_by_key(|one| (kind(one), one.at_ns));
    caught.dedup_by_key(|one| kind(one));
    caught.order_by_key(|one| one.at_ns);
    caught.truncate(CAUGHT_MAX);
}
