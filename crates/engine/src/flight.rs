//! Requests in flight, with the stamps that make their latency.
//!
//! Requests that were sent together share their stamps, so they are kept as one batch with a count.
//! Each connection has a queue of batches. Where responses come back in order, as in HTTP/1.1 (RFC
//! 9112 section 9.3), only its front is used. Where they come in any order, each request is its own
//! batch, found by its number. The memory of all queues is taken at the start.
//!
//! Hot: runs for every request.

use crate::driver::SlotId;
use wire::session::RequestId;

/// Requests sent together on one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Batch {
    /// When they were handed to the driver, nanoseconds.
    pub sent_ns: u64,
    /// When they were due, nanoseconds; in closed loop the same as `sent_ns`.
    pub planned_ns: u64,
    /// Position on the tape of the first one without a response.
    pub position: u32,
    /// How many have no response yet.
    pub count: u32,
    /// Which part of which level they were sent in.
    pub epoch: u32,
    /// Number, on its connection, of the one that was sent first; [`Flights::push`] sets it.
    pub number: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    first: u32,
    batches: u32,
    requests: u32,
    /// Requests sent on this connection, modulo 2^32.
    sent: u32,
}

/// The queues of all connections of one worker.
#[derive(Debug)]
pub struct Flights {
    batches: Vec<Batch>,
    queues: Vec<Queue>,
    depth: u32,
}

impl Flights {
    /// Takes memory for `slots` connections with up to `depth` requests each.
    pub fn new(slots: u32, depth: u32) -> Self {
        assert!(depth >= 1);
        let batches = slots as usize * depth as usize;
        Self {
            batches: vec![Batch::default(); batches],
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
    pub fn oldest(&self, slot: SlotId) -> Option<&Batch> {
        let has_batches = self.queues[slot as usize].batches > 0;
        has_batches.then(|| &self.batches[self.index(slot, 0)])
    }

    /// The batch that contains a request of a connection, if that request is in flight.
    #[inline]
    pub fn of(&self, slot: SlotId, request: RequestId) -> Option<&Batch> {
        match request {
            RequestId::Oldest => self.oldest(slot),
            RequestId::Number(number) => self.batches(slot).find(|batch| batch.number == number),
        }
    }

    /// All batches of a connection, the oldest first.
    pub fn batches(&self, slot: SlotId) -> impl Iterator<Item = &Batch> {
        let batches = self.queues[slot as usize].batches;
        (0..batches).map(move |nth| &self.batches[self.index(slot, nth)])
    }

    /// Adds requests that were just sent. There must be room: at most `depth` in flight.
    #[inline]
    pub fn push(&mut self, slot: SlotId, batch: Batch) {
        let queue = self.queues[slot as usize];
        assert!(batch.count >= 1 && queue.requests + batch.count <= self.depth);
        let index = self.index(slot, queue.batches);
        self.batches[index] = Batch { number: queue.sent, ..batch };
        let queue = &mut self.queues[slot as usize];
        queue.sent = queue.sent.wrapping_add(batch.count);
        queue.batches += 1;
        queue.requests += batch.count;
    }

    /// The first `count` requests of the batch that contains a request got their responses; `next`
    /// is the tape position of the request after them.
    #[inline]
    pub fn land(&mut self, slot: SlotId, request: RequestId, count: u32, next: u32) {
        if let RequestId::Number(number) = request {
            self.bring_forward(slot, number);
        }
        let index = self.index(slot, 0);
        let batch = &mut self.batches[index];
        batch.count -= count;
        batch.position = next;
        let batch_is_over = batch.count == 0;
        let queue = &mut self.queues[slot as usize];
        queue.requests -= count;
        if batch_is_over {
            queue.batches -= 1;
            queue.first = if queue.first + 1 == self.depth { 0 } else { queue.first + 1 };
        }
    }

    /// Moves a batch to the front of its queue, past the batches before it, which are few.
    fn bring_forward(&mut self, slot: SlotId, number: u32) {
        let nth = self.batches(slot).position(|batch| batch.number == number);
        for nth in (0..nth.unwrap_or(0) as u32).rev() {
            let (one, other) = (self.index(slot, nth), self.index(slot, nth + 1));
            self.batches.swap(one, other);
        }
    }

    /// A connection was opened again: its requests are counted from 0, and those that are still in
    /// flight, because they are to be sent again, are its first.
    pub fn restart(&mut self, slot: SlotId) {
        let mut number = 0;
        for nth in 0..self.queues[slot as usize].batches {
            let index = self.index(slot, nth);
            self.batches[index].number = number;
            number += self.batches[index].count;
        }
        self.queues[slot as usize].sent = number;
    }

    /// Removes the oldest batch of a connection.
    pub fn pop_batch(&mut self, slot: SlotId) -> Option<Batch> {
        let batch = *self.oldest(slot)?;
        let queue = &mut self.queues[slot as usize];
        queue.batches -= 1;
        queue.requests -= batch.count;
        queue.first = if queue.first + 1 == self.depth { 0 } else { queue.first + 1 };
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The queues behave like plain queues of single requests.
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
                        let all = Batch { sent_ns: clock, planned_ns: clock, ..Batch::default() };
                        flights.push(slot, Batch { count, epoch: count % 2, ..all });
                        queue.extend((0..count).map(|_| (clock, count % 2)));
                    }
                    2 => {
                        let oldest = flights.oldest(slot).map(|batch| (batch.sent_ns, batch.epoch));
                        prop_assert_eq!(oldest, queue.pop_front());
                        if oldest.is_some() {
                            flights.land(slot, RequestId::Oldest, 1, 0);
                        }
                    }
                    _ => {
                        let batch = flights.pop_batch(slot);
                        let expected = queue.front().copied();
                        prop_assert_eq!(batch.map(|batch| (batch.sent_ns, batch.epoch)), expected);
                        for _ in 0..batch.map_or(0, |batch| batch.count) {
                            prop_assert_eq!(queue.pop_front(), expected);
                        }
                    }
                }
                prop_assert_eq!(flights.on(slot), plain[slot as usize].len() as u32);
            }
        }

        /// Requests that are answered in any order behave like a plain list.
        #[test]
        fn numbers_find_their_request(
            steps in prop::collection::vec((0u32..2, 0usize..7), 1..200)
        ) {
            const DEPTH: u32 = 7;
            let mut flights = Flights::new(2, DEPTH);
            let mut plain: [(u32, Vec<(u32, u64)>); 2] = Default::default();
            for (clock, (slot, nth)) in steps.into_iter().enumerate() {
                let (sent, waiting) = &mut plain[slot as usize];
                if nth < waiting.len() {
                    let (number, sent_ns) = waiting.remove(nth);
                    let request = RequestId::Number(number);
                    let found = flights.of(slot, request).map(|batch| batch.sent_ns);
                    prop_assert_eq!(found, Some(sent_ns));
                    flights.land(slot, request, 1, 0);
                    prop_assert_eq!(flights.of(slot, request), None);
                } else if waiting.len() < DEPTH as usize {
                    let sent_ns = clock as u64;
                    flights.push(slot, Batch { sent_ns, count: 1, ..Batch::default() });
                    waiting.push((*sent, sent_ns));
                    *sent += 1;
                }
                let batches: Vec<_> =
                    flights.batches(slot).map(|batch| (batch.number, batch.sent_ns)).collect();
                prop_assert_eq!(&batches, &*waiting);
                prop_assert_eq!(flights.on(slot), waiting.len() as u32);
            }
        }
    }
}
