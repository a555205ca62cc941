//! The slowest requests of the measured window of one worker, each by itself.
//!
//! For: why the slow end of the latencies is slow. The control plane lays these requests over what
//! both hosts did meanwhile.
//! In: good responses that took longer than the fastest of those kept, requests that timed out or
//! were never answered, and when this worker did not look at its connections. Out: the slowest
//! [`SLOW_MAX`] of them, with the last tick of a level.
//! Never: a response with a bad status.
//!
//! Hot: [`Slowest::is_slow`] runs for every response; nothing else does.

use model::slow::{SLOW_MAX, Slow};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pauses of the worker that are remembered: enough for the time that a slow request takes.
const PAUSES_MAX: usize = 64;

/// A request that is kept, ordered by how long it took.
#[derive(Debug)]
struct Kept(Slow);

impl Kept {
    fn key(&self) -> Reverse<u64> {
        Reverse(self.0.took_ns())
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// See the module.
#[derive(Debug)]
pub struct Slowest {
    /// The fastest of those kept on top.
    kept: BinaryHeap<Kept>,
    /// A request that took no longer than this is not kept.
    above_ns: u64,
    /// The latest pauses of the worker, in a ring: from, until.
    pauses: [(u64, u64); PAUSES_MAX],
    next_pause: usize,
}

impl Slowest {
    /// Takes all memory that it will ever need.
    pub fn new() -> Self {
        let kept = BinaryHeap::with_capacity(SLOW_MAX);
        Self { kept, above_ns: 0, pauses: [(0, 0); PAUSES_MAX], next_pause: 0 }
    }

    /// Starts a measured window.
    pub fn begin(&mut self) {
        self.kept.clear();
        self.above_ns = 0;
    }

    /// Whether a request that took so long is kept.
    #[inline]
    pub fn is_slow(&self, took_ns: u64) -> bool {
        took_ns > self.above_ns
    }

    /// The worker did not look at its connections.
    #[cold]
    pub fn pause(&mut self, begin_ns: u64, end_ns: u64) {
        // What is known of a pause grows from turn to turn: no time counts twice.
        let last_ns = self.pauses[(self.next_pause + PAUSES_MAX - 1) % PAUSES_MAX].1;
        self.pauses[self.next_pause] = (begin_ns.max(last_ns), end_ns);
        self.next_pause = (self.next_pause + 1) % PAUSES_MAX;
    }

    /// Keeps a request of the window, and forgets the fastest instead when there are too many.
    #[cold]
    pub fn keep(&mut self, slow: Slow) {
        let own_ns = self.paused_ns(slow.planned_ns, slow.ended_ns);
        let new = Kept(Slow { own_ns, ..slow });
        if self.kept.len() < SLOW_MAX {
            self.kept.push(new);
        } else if let Some(mut fastest) = self.kept.peek_mut()
            && slow.took_ns() > fastest.0.took_ns()
        {
            *fastest = new;
        }
        if self.kept.len() == SLOW_MAX {
            self.above_ns = self.kept.peek().map_or(0, |fastest| fastest.0.took_ns());
        }
    }

    /// Keeps requests of the window that were sent together and have no response. They count for
    /// the target of the first.
    #[cold]
    pub fn keep_all(&mut self, slow: Slow, requests: u32) {
        for _ in 0..requests {
            self.keep(slow);
        }
    }

    /// For how much of a time the worker was paused.
    fn paused_ns(&self, begin_ns: u64, end_ns: u64) -> u64 {
        let inside = |(from_ns, until_ns): &(u64, u64)| {
            (*until_ns).min(end_ns).saturating_sub((*from_ns).max(begin_ns))
        };
        self.pauses.iter().map(inside).sum()
    }

    /// Ends the window: passes on what was kept.
    pub fn hand_over(&mut self, road: &mut Vec<Slow>) {
        let room = road.capacity() - road.len();
        road.extend(self.kept.drain().take(room).map(|kept| kept.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(planned_ns: u64, took_ns: u64) -> Slow {
        Slow { planned_ns, ended_ns: planned_ns + took_ns, ..Slow::default() }
    }

    fn handed_over(slowest: &mut Slowest) -> Vec<Slow> {
        let mut road = Vec::with_capacity(SLOW_MAX);
        slowest.hand_over(&mut road);
        road.sort_by_key(Slow::took_ns);
        road
    }

    #[test]
    fn those_that_took_longest_are_kept_in_whatever_order_they_come() {
        let mut slowest = Slowest::new();
        slowest.begin();
        let all = 3 * SLOW_MAX as u64;
        let capacity = slowest.kept.capacity();
        for nth in 0..all {
            // 7 has no factor in common with the number of requests.
            let took_ns = 100 + 7 * nth % all;
            if slowest.is_slow(took_ns) {
                slowest.keep(slow(nth, took_ns));
            }
        }
        assert_eq!(slowest.kept.capacity(), capacity, "it takes no more memory");
        let took: Vec<u64> = handed_over(&mut slowest).iter().map(Slow::took_ns).collect();
        let slow: Vec<u64> = (100 + all - SLOW_MAX as u64..100 + all).collect();
        assert_eq!(took, slow);
        slowest.begin();
        assert!(slowest.is_slow(1) && handed_over(&mut slowest).is_empty(), "a new window");
    }

    #[test]
    fn pauses_count_for_the_requests_that_were_under_way_and_no_time_counts_twice() {
        let mut slowest = Slowest::new();
        slowest.begin();
        slowest.pause(100, 200);
        slowest.pause(150, 300);
        slowest.pause(1000, 1050);
        slowest.keep(slow(180, 840));
        slowest.keep(slow(1050, 500));
        let own: Vec<u64> = handed_over(&mut slowest).iter().map(|one| one.own_ns).collect();
        assert_eq!(own, [0, 120 + 20]);
        for nth in 0..1000 {
            slowest.pause(10_000 + 10 * nth, 10_001 + 10 * nth);
        }
        slowest.keep(slow(0, 30_000));
        let own: Vec<u64> = handed_over(&mut slowest).iter().map(|one| one.own_ns).collect();
        assert_eq!(own, [PAUSES_MAX as u64], "the latest are remembered");
    }
}
