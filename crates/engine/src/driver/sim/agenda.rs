//! What will happen on simulated connections, in virtual time and from a seed.

use super::{StallPoint, Stalls};
use crate::driver::SlotId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Start of virtual time, nanoseconds.
pub const BEGIN_NS: u64 = 1_000_000_000;
/// Virtual time that a turn of the worker takes, nanoseconds.
const TURN_NS: u64 = 500;

/// Ordered by time, then in the order in which they were arranged.
type Arranged = Reverse<(u64, u64, SlotId, u32, usize)>;

/// Happenings of kind `H`, and the clock that they follow.
pub(super) struct Agenda<H> {
    pub now_ns: u64,
    /// How often the generator was stalled.
    pub stalled: u64,
    stalls: Option<Stalls>,
    next_stall_ns: u64,
    random: u64,
    /// Counts the connections of each slot: what was arranged for an old one does not happen.
    generations: Vec<u32>,
    arranged: BinaryHeap<Arranged>,
    happenings: Vec<Option<H>>,
    due: Vec<(SlotId, u32, H)>,
}

impl<H> Agenda<H> {
    pub fn new(seed: u64, slots: u32, stalls: Option<Stalls>) -> Self {
        Self {
            now_ns: BEGIN_NS,
            stalled: 0,
            stalls,
            next_stall_ns: BEGIN_NS + stalls.map_or(0, |stalls| stalls.every_ns),
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            generations: vec![0; slots as usize],
            arranged: BinaryHeap::new(),
            happenings: Vec::new(),
            due: Vec::new(),
        }
    }

    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// Holds the generator up, if a stall is due.
    pub fn hold_up(&mut self, during: StallPoint) {
        let Some(stalls) = self.stalls.filter(|stalls| stalls.during == during) else { return };
        if self.now_ns >= self.next_stall_ns {
            self.now_ns += stalls.length_ns;
            self.next_stall_ns = self.now_ns + stalls.every_ns;
            self.stalled += 1;
        }
    }

    pub fn strikes(&mut self, per_mille: u64) -> bool {
        self.next_random() % 1000 < per_mille
    }

    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next_random() % (most - least + 1)
    }

    pub fn arrange(&mut self, at_ns: u64, slot: SlotId, happening: H) {
        let (order, generation) = (self.happenings.len(), self.generations[slot as usize]);
        self.happenings.push(Some(happening));
        self.arranged.push(Reverse((at_ns, order as u64, slot, generation, order)));
    }

    /// Nothing that was arranged for a slot happens.
    pub fn close(&mut self, slot: SlotId) {
        let generation = &mut self.generations[slot as usize];
        *generation = generation.wrapping_add(1);
    }

    /// Lets a turn pass, and then time until something happens.
    pub fn wait(&mut self, until_ns: u64) {
        self.now_ns += TURN_NS;
        let next_ns = self.arranged.peek().map_or(u64::MAX, |Reverse(next)| next.0);
        self.now_ns = self.now_ns.max(next_ns.min(until_ns));
        self.hold_up(StallPoint::Wait);
        while let Some(Reverse((at_ns, _, slot, generation, index))) = self.arranged.peek().copied()
        {
            if at_ns > self.now_ns {
                break;
            }
            self.arranged.pop();
            let happening = self.happenings[index].take().expect("happens once");
            self.due.push((slot, generation, happening));
        }
        self.due.reverse();
    }

    /// The next thing that has happened.
    pub fn next(&mut self) -> Option<(SlotId, H)> {
        while let Some((slot, generation, happening)) = self.due.pop() {
            if self.generations[slot as usize] == generation {
                return Some((slot, happening));
            }
        }
        None
    }
}
