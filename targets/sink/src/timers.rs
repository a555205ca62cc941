//! Requested wake-ups: a heap that keeps its memory.
//!
//! A wake-up is never cancelled. The woken owner checks whether there is still work; slots are
//! reused, so a wake-up has the generation of the slot it was meant for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A wake-up that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wake {
    /// The planned time.
    pub due_ns: u64,
    /// For whom.
    pub token: u64,
}

/// All wake-ups of one thread.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<Wake>>,
}

impl Timers {
    /// Room for `capacity` wake-ups before the next allocation.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(capacity) }
    }

    /// Requests a wake-up of `token` at `due_ns`.
    pub fn set(&mut self, due_ns: u64, token: u64) {
        self.heap.push(Reverse(Wake { due_ns, token }));
    }

    /// The time of the next wake-up.
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(wake)| wake.due_ns)
    }

    /// Takes the earliest wake-up that is due at `now_ns`.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<Wake> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(wake)| wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut timers = Timers::with_capacity(4);
        timers.set(20, 2);
        timers.set(10, 1);
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.pop_due(9), None);
        assert_eq!(timers.pop_due(15), Some(Wake { due_ns: 10, token: 1 }));
        assert_eq!(timers.pop_due(15), None);
        assert_eq!(timers.pop_due(u64::MAX), Some(Wake { due_ns: 20, token: 2 }));
        assert_eq!(timers.next_ns(), None);
    }

    proptest! {
        #[test]
        fn all_come_in_order_of_time(due in prop::collection::vec(0_u64..1_000, 0..200)) {
            let mut timers = Timers::default();
            for (token, &due_ns) in due.iter().enumerate() {
                timers.set(due_ns, token as u64);
            }
            let woken: Vec<u64> =
                std::iter::from_fn(|| timers.pop_due(u64::MAX)).map(|wake| wake.due_ns).collect();
            let mut sorted = due;
            sorted.sort_unstable();
            prop_assert_eq!(woken, sorted);
        }
    }
}
