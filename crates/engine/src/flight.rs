//! Requests in flight, with the stamps that make their latency.
//!
//! Requests that were sent together share their stamps, so they are kept as one batch with a count.
//! Where responses come back in order, as in HTTP/1.1 (RFC 9112 section 9.3), each connection has a
//! queue of batches, of which only the front is used. Where they come in any order, each request is
//! its own batch, at the place that its session gave it. The memory of all is taken at the start.
//!
//! Hot: runs for every request.

use crate::driver::SlotId;
use wire::session::{RequestId, ResponseOrder};

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
}

#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    first: u32,
    batches: u32,
    requests: u32,
}

/// The requests of all connections of one worker.
#[derive(Debug)]
pub struct Flights {
    batches: Vec<Batch>,
    queues: Vec<Queue>,
    places: u32,
    order: ResponseOrder,
}

impl Flights {
    /// Takes memory for `slots` connections with so many places for requests each.
    pub fn new(slots: u32, places: u32, order: ResponseOrder) -> Self {
        assert!(places >= 1);
        let batches = slots as usize * places as usize;
        Self {
            batches: vec![Batch::default(); batches],
            queues: vec![Queue::default(); slots as usize],
            places,
            order,
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
        let wrapped = if offset >= self.places { offset - self.places } else { offset };
        slot as usize * self.places as usize + wrapped as usize
    }

    /// The place of a request among those of all connections.
    #[inline]
    fn place(&self, slot: SlotId, request: RequestId) -> usize {
        match request {
            RequestId::Oldest => self.index(slot, 0),
            RequestId::At(place) => slot as usize * self.places as usize + place as usize,
        }
    }

    /// The oldest requests of a connection.
    // Cold: without order all of its requests are looked at.
    pub fn oldest(&self, slot: SlotId) -> Option<&Batch> {
        match self.order {
            ResponseOrder::OfRequests => self.of(slot, RequestId::Oldest),
            ResponseOrder::Any => self.batches(slot).min_by_key(|batch| batch.sent_ns),
        }
    }

    /// The batch that contains a request of a connection, if that request is in flight.
    #[inline]
    pub fn of(&self, slot: SlotId, request: RequestId) -> Option<&Batch> {
        let batch = &self.batches[self.place(slot, request)];
        let is_there = match request {
            RequestId::Oldest => self.queues[slot as usize].batches > 0,
            RequestId::At(_) => batch.count > 0,
        };
        is_there.then_some(batch)
    }

    /// All batches of a connection; in order, the oldest first.
    pub fn batches(&self, slot: SlotId) -> impl Iterator<Item = &Batch> {
        self.requests(slot).map(|(_, batch)| batch)
    }

    /// All batches of a connection, with what each answers to.
    pub fn requests(&self, slot: SlotId) -> impl Iterator<Item = (RequestId, &Batch)> {
        let nths = match self.order {
            ResponseOrder::OfRequests => self.queues[slot as usize].batches,
            ResponseOrder::Any => self.places,
        };
        let requests = (0..nths).map(move |nth| match self.order {
            ResponseOrder::OfRequests => (RequestId::Oldest, &self.batches[self.index(slot, nth)]),
            ResponseOrder::Any => {
                let request = RequestId::At(nth);
                (request, &self.batches[self.place(slot, request)])
            }
        });
        requests.filter(|(_, batch)| batch.count > 0)
    }

    /// Adds requests that were just sent, behind all others. There must be room.
    #[inline]
    pub fn push(&mut self, slot: SlotId, batch: Batch) {
        let queue = self.queues[slot as usize];
        assert!(batch.count >= 1 && queue.requests + batch.count <= self.places);
        let index = self.index(slot, queue.batches);
        self.put(slot, index, batch);
    }

    /// Adds a request that was just sent, at a place that is free.
    #[inline]
    pub fn push_at(&mut self, slot: SlotId, place: u32, batch: Batch) {
        let index = self.place(slot, RequestId::At(place));
        assert!(batch.count == 1 && place < self.places && self.batches[index].count == 0);
        self.put(slot, index, batch);
    }

    #[inline]
    fn put(&mut self, slot: SlotId, index: usize, batch: Batch) {
        self.batches[index] = batch;
        let queue = &mut self.queues[slot as usize];
        queue.batches += 1;
        queue.requests += batch.count;
    }

    /// The first `count` requests of the batch that contains a request have their outcomes; `next`
    /// is the tape position of the request after them.
    #[inline]
    pub fn land(&mut self, slot: SlotId, request: RequestId, count: u32, next: u32) {
        let index = self.place(slot, request);
        let batch = &mut self.batches[index];
        batch.count -= count;
        batch.position = next;
        let batch_is_over = batch.count == 0;
        let queue = &mut self.queues[slot as usize];
        queue.requests -= count;
        if batch_is_over {
            queue.batches -= 1;
            if request == RequestId::Oldest {
                queue.first = if queue.first + 1 == self.places { 0 } else { queue.first + 1 };
            }
        }
    }

    /// Removes a batch of a connection; in order, the oldest one.
    pub fn pop_batch(&mut self, slot: SlotId) -> Option<Batch> {
        let (request, batch) =
            self.requests(slot).map(|(request, batch)| (request, *batch)).next()?;
        self.land(slot, request, batch.count, batch.position);
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
            let mut flights = Flights::new(3, DEPTH, ResponseOrder::OfRequests);
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

        /// Requests that are answered in any order are found at their places.
        #[test]
        fn places_keep_their_request(
            steps in prop::collection::vec((0u32..2, 0u32..7), 1..200)
        ) {
            const PLACES: u32 = 7;
            let mut flights = Flights::new(2, PLACES, ResponseOrder::Any);
            let mut plain = [[None; PLACES as usize]; 2];
            for (clock, (slot, place)) in steps.into_iter().enumerate() {
                let (request, sent_ns) = (RequestId::At(place), clock as u64);
                match plain[slot as usize][place as usize].take() {
                    Some(sent_ns) => {
                        let found = flights.of(slot, request).map(|batch| batch.sent_ns);
                        prop_assert_eq!(found, Some(sent_ns));
                        flights.land(slot, request, 1, 0);
                    }
                    None => {
                        let batch = Batch { sent_ns, count: 1, ..Batch::default() };
                        flights.push_at(slot, place, batch);
                        plain[slot as usize][place as usize] = Some(sent_ns);
                    }
                }
                let sent: Vec<u64> = plain[slot as usize].iter().flatten().copied().collect();
                let found: Vec<_> = flights.batches(slot).map(|batch| batch.sent_ns).collect();
                let oldest = flights.oldest(slot).map(|batch| batch.sent_ns);
                prop_assert_eq!(oldest, sent.iter().min().copied());
                prop_assert_eq!((flights.on(slot) as usize, &found), (sent.len(), &sent));
            }
            for slot in 0..2 {
                while flights.pop_batch(slot).is_some() {}
                prop_assert_eq!(flights.on(slot), 0);
            }
        }
    }
}
