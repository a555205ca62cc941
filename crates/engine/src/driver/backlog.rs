//! What full waits leave for the next ones.
//!
//! A wait returns a limited number of events. After a full one others may have been ready too, and
//! the next waits return them first. They have been there since before the turn between, so what
//! such a wait returns is older than the last turn. Each connection has few events at a time, so
//! what was left has been returned after a known number of waits.

use std::collections::VecDeque;

/// What a wait took of what was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    All,
    /// As much as it can: there may have been more.
    Full,
}

/// See the module.
pub(super) struct Backlog {
    /// Waits that may have left something that has not been returned, in their order: when that may
    /// have arrived at the earliest.
    since_ns: VecDeque<u64>,
    /// After this many more waits, all that one left has been returned.
    waits_max: usize,
}

impl Backlog {
    /// For at most `events` at a time, of which a wait returns `at_once`.
    pub fn new(events: usize, at_once: usize) -> Self {
        let waits_max = events.saturating_sub(1) / at_once;
        Self { since_ns: VecDeque::with_capacity(waits_max + 1), waits_max }
    }

    /// The earliest instant at which what earlier waits left may have arrived, or the far future.
    #[inline]
    pub fn oldest(&self) -> u64 {
        self.since_ns.iter().copied().min().unwrap_or(u64::MAX)
    }

    /// A wait has returned; what was not there before it arrived at `since_ns` at the earliest.
    /// Returns the earliest instant at which anything that it returned may have arrived.
    #[inline]
    pub fn since(&mut self, since_ns: u64, took: Took) -> u64 {
        if self.since_ns.is_empty() && took == Took::All {
            return since_ns;
        }
        self.since_before(since_ns, took)
    }

    #[inline(never)]
    fn since_before(&mut self, since_ns: u64, took: Took) -> u64 {
        self.since_ns.push_back(since_ns);
        let earliest_ns = self.oldest();
        if took == Took::All {
            self.since_ns.clear();
        } else if self.since_ns.len() > self.waits_max {
            self.since_ns.pop_front();
        }
        earliest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::Took::{All, Full};
    use super::*;

    #[test]
    fn what_a_wait_returns_is_as_old_as_the_wait_that_left_it() {
        let since = |events, waits: &[(u64, Took)]| -> Vec<u64> {
            let mut backlog = Backlog::new(events, 256);
            let of_wait = |(since_ns, took): &(u64, Took)| backlog.since(*since_ns, *took);
            waits.iter().map(of_wait).collect()
        };
        let waits = [(10, All), (20, Full), (30, Full), (40, Full), (50, All), (60, All)];
        assert_eq!(since(256, &waits), [10, 20, 30, 40, 50, 60], "a full one leaves nothing");
        assert_eq!(since(257, &waits), [10, 20, 20, 30, 40, 60], "the next one returns the rest");
        assert_eq!(since(512, &waits), [10, 20, 20, 30, 40, 60]);
        assert_eq!(since(513, &waits), [10, 20, 20, 20, 30, 60], "the next two do");
        assert_eq!(since(1_000_000, &waits), [10, 20, 20, 20, 20, 60], "until one is not full");
    }
}
