//! Requests in flight, with the stamps that make their latency.
//!
//! Requests that one send handed over share their stamps, so they are kept as one run with a
//! count. Responses come back in order on a connection (RFC 9112 section 9.3), so each connection
//! is a queue of runs. The memory of all queues is taken at the start.
//!
//! Hot: runs for every request.

use crate::driver::SlotId;

/// Requests sent together on one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Run {
    /// When they were handed over, nanoseconds.
    pub sent_ns: u64,
    /// When they were due, nanoseconds; in closed loop the same.
    pub planned_ns: u64,
    /// Place on the tape of the first one without a response.
    pub position: u32,
    /// How many have no response yet.
    pub count: u32,
    /// Which part of which level they were sent in.
    pub epoch: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    first: u32,
    runs: u32,
    requests: u32,
}

/// The queues of all connections of one worker.
#[derive(Debug)]
pub struct Flights {
    runs: Vec<Run>,
    queues: Vec<Queue>,
    depth: u32,
}

impl Flights {
    /// Takes memory for `slots` connections with up to `depth` requests each.
    pub fn new(slots: u32, depth: u32) -> Self {
        assert!(depth >= 1);
        let runs = slots as usize * depth as usize;
        Self {
            runs: vec![Run::default(); runs],
            queues: vec![Queue::default(); slots as usize],
            depth,
        }
    }

    /// Requests in flight on one connection.
    #[inline]
    pub fn on(&self, slot: SlotId) -> u32 {
        self.queues[slot as usize].requests
    }

    #[inline]
    fn index(&self, slot: SlotId, nth: u32) -> usize {
        let offset = self.queues[slot as usize].first + nth;
        let wrapped = if offset >= self.depth { offset - self.depth } else { offset };
        slot as usize * self.depth as usize + wrapped as usize
    }

    /// The oldest requests of a connection.
    #[inline]
    pub fn oldest(&self, slot: SlotId) -> Option<&Run> {
        let has_runs = self.queues[slot as usize].runs > 0;
        has_runs.then(|| &self.runs[self.index(slot, 0)])
    }

    /// All runs of a connection, the oldest first.
    pub fn runs(&self, slot: SlotId) -> impl Iterator<Item = &Run> {
        let runs = self.queues[slot as usize].runs;
        (0..runs).map(move |nth| &self.runs[self.index(slot, nth)])
    }

    /// Adds requests that were just sent. There must be room: at most `depth` in flight.
    #[inline]
    pub fn push(&mut self, slot: SlotId, run: Run) {
        let queue = self.queues[slot as usize];
        assert!(run.count >= 1 && queue.requests + run.count <= self.depth);
        let index = self.index(slot, queue.runs);
        self.runs[index] = run;
        let queue = &mut self.queues[slot as usize];
        queue.runs += 1;
        queue.requests += run.count;
    }

    /// The oldest request of a connection got its response; `next` is the place on the tape of the
    /// one after it.
    #[inline]
    pub fn pop(&mut self, slot: SlotId, next: u32) {
        let index = self.index(slot, 0);
        let run = &mut self.runs[index];
        run.count -= 1;
        run.position = next;
        let run_is_over = run.count == 0;
        let queue = &mut self.queues[slot as usize];
        queue.requests -= 1;
        if run_is_over {
            queue.runs -= 1;
            queue.first = if queue.first + 1 == self.depth { 0 } else { queue.first + 1 };
        }
    }

    /// Removes the oldest run of a connection whole.
    pub fn pop_run(&mut self, slot: SlotId) -> Option<Run> {
        let run = *self.oldest(slot)?;
        let queue = &mut self.queues[slot as usize];
        queue.runs -= 1;
        queue.requests -= run.count;
        queue.first = if queue.first + 1 == self.depth { 0 } else { queue.first + 1 };
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The queues behave like plain ones that hold each request by itself.
        #[test]
        fn queues_keep_order(steps in prop::collection::vec((0u32..3, 0u32..4, 1u32..6), 1..200)) {
            const DEPTH: u32 = 7;
            let mut flights = Flights::new(3, DEPTH);
            let mut plain: [VecDeque<(u64, u32)>; 3] = Default::default();
            let mut clock = 0;
            for (slot, action, count) in steps {
                let queue = &mut plain[slot as usize];
                match action {
                    0 | 1 if queue.len() as u32 + count <= DEPTH => {
                        clock += 1;
                        let stamps = Run { sent_ns: clock, planned_ns: clock, ..Run::default() };
                        flights.push(slot, Run { count, epoch: count % 2, ..stamps });
                        queue.extend((0..count).map(|_| (clock, count % 2)));
                    }
                    2 => {
                        let oldest = flights.oldest(slot).map(|run| (run.sent_ns, run.epoch));
                        prop_assert_eq!(oldest, queue.pop_front());
                        if oldest.is_some() {
                            flights.pop(slot, 0);
                        }
                    }
                    _ => {
                        let run = flights.pop_run(slot);
                        let expected = queue.front().copied();
                        prop_assert_eq!(run.map(|run| (run.sent_ns, run.epoch)), expected);
                        for _ in 0..run.map_or(0, |run| run.count) {
                            prop_assert_eq!(queue.pop_front(), expected);
                        }
                    }
                }
                prop_assert_eq!(flights.on(slot), plain[slot as usize].len() as u32);
            }
        }
    }
}
