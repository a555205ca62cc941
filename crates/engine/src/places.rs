//! Which connections can take a request now, in the order in which they became free.
//!
//! Two queues: connections with nothing in flight, and connections with requests in flight and room
//! for more. The first is used up before the second; in each, the connection that has been free
//! longest comes first, so that all are used in turn and none goes stale.
//!
//! Hot: runs for every request of an open loop.

use crate::driver::SlotId;

/// How free a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Nothing is in flight on it.
    Idle,
    /// Requests are in flight, and there is room behind them.
    Behind,
}

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Neighbours {
    before: u32,
    after: u32,
    queue: Option<Room>,
}

#[derive(Debug, Clone, Copy)]
struct Queue {
    first: u32,
    last: u32,
}

const EMPTY: Queue = Queue { first: NONE, last: NONE };

/// See the module.
#[derive(Debug)]
pub struct Places {
    links: Vec<Neighbours>,
    queues: [Queue; 2],
}

impl Places {
    /// Takes memory for `slots` connections; none has room.
    pub fn new(slots: u32) -> Self {
        let link = Neighbours { before: NONE, after: NONE, queue: None };
        Self { links: vec![link; slots as usize], queues: [EMPTY; 2] }
    }

    /// Whether no connection has room.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues[0].first == NONE && self.queues[1].first == NONE
    }

    /// Marks a connection as having room, in place of what was known about it before.
    #[inline]
    pub fn put(&mut self, slot: SlotId, room: Room) {
        if self.links[slot as usize].queue == Some(room) {
            return;
        }
        self.remove(slot);
        let queue = &mut self.queues[room as usize];
        self.links[slot as usize] =
            Neighbours { before: queue.last, after: NONE, queue: Some(room) };
        match queue.last {
            NONE => queue.first = slot,
            last => self.links[last as usize].after = slot,
        }
        queue.last = slot;
    }

    /// Takes the connection to use next.
    #[inline]
    pub fn take(&mut self) -> Option<SlotId> {
        let first = self.queues.iter().map(|queue| queue.first).find(|first| *first != NONE)?;
        self.remove(first);
        Some(first)
    }

    /// A connection has no room any more, or never had any: removes it.
    #[inline]
    pub fn remove(&mut self, slot: SlotId) {
        let Neighbours { before, after, queue } = self.links[slot as usize];
        let Some(room) = queue else { return };
        let queue = &mut self.queues[room as usize];
        match before {
            NONE => queue.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => queue.last = before,
            after => self.links[after as usize].before = before,
        }
        self.links[slot as usize].queue = None;
    }

    /// Removes all connections.
    pub fn clear(&mut self) {
        (0..self.links.len() as SlotId).for_each(|slot| self.remove(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn places_behave_like_two_plain_queues(
            steps in prop::collection::vec((0u32..6, 0u32..5), 1..300)
        ) {
            let mut places = Places::new(6);
            let mut plain: [VecDeque<SlotId>; 2] = Default::default();
            for (slot, action) in steps {
                match action {
                    0 | 1 => {
                        let room = [Room::Idle, Room::Behind][action as usize];
                        places.put(slot, room);
                        if !plain[room as usize].contains(&slot) {
                            plain.iter_mut().for_each(|queue| queue.retain(|one| *one != slot));
                            plain[room as usize].push_back(slot);
                        }
                    }
                    2 => {
                        places.remove(slot);
                        plain.iter_mut().for_each(|queue| queue.retain(|one| *one != slot));
                    }
                    _ => {
                        let next = plain[0].pop_front().or_else(|| plain[1].pop_front());
                        prop_assert_eq!(places.take(), next);
                    }
                }
                prop_assert_eq!(places.is_empty(), plain.iter().all(VecDeque::is_empty));
            }
        }
    }
}
