//! One alarm per connection, the next one first.
//!
//! A binary heap that also stores the index of each connection in it, so that an alarm can be moved
//! or cleared. It needs memory for one entry per connection.

use crate::driver::SlotId;

const NOWHERE: u32 = u32::MAX;

/// See the module.
#[derive(Debug)]
pub struct Alarms {
    heap: Vec<SlotId>,
    /// Index of each connection in the heap.
    at: Vec<u32>,
    due_ns: Vec<u64>,
}

impl Alarms {
    /// Takes memory for `slots` connections; no alarm is set.
    pub fn new(slots: u32) -> Self {
        let slots = slots as usize;
        Self { heap: Vec::with_capacity(slots), at: vec![NOWHERE; slots], due_ns: vec![0; slots] }
    }

    /// When the next alarm is due; the far future when none is set.
    pub fn next_ns(&self) -> u64 {
        self.heap.first().map_or(u64::MAX, |slot| self.due_ns[*slot as usize])
    }

    /// When the alarm of a connection is due, if it has one.
    pub fn of(&self, slot: SlotId) -> Option<u64> {
        (self.at[slot as usize] != NOWHERE).then(|| self.due_ns[slot as usize])
    }

    /// Sets the alarm of a connection, replacing any earlier one.
    pub fn set(&mut self, slot: SlotId, due_ns: u64) {
        self.clear(slot);
        self.due_ns[slot as usize] = due_ns;
        self.at[slot as usize] = self.heap.len() as u32;
        self.heap.push(slot);
        self.rise(self.heap.len() - 1);
    }

    /// Clears the alarm of a connection, if it has one.
    pub fn clear(&mut self, slot: SlotId) {
        let index = self.at[slot as usize];
        if index == NOWHERE {
            return;
        }
        let index = index as usize;
        let last = self.heap.len() - 1;
        self.swap(index, last);
        self.heap.pop();
        self.at[slot as usize] = NOWHERE;
        if index < self.heap.len() {
            self.rise(index);
            self.sink(index);
        }
    }

    /// Takes the next alarm that is due.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<SlotId> {
        let first = *self.heap.first()?;
        if self.due_ns[first as usize] > now_ns {
            return None;
        }
        self.clear(first);
        Some(first)
    }

    fn due(&self, index: usize) -> u64 {
        self.due_ns[self.heap[index] as usize]
    }

    fn swap(&mut self, left: usize, right: usize) {
        self.heap.swap(left, right);
        self.at[self.heap[left] as usize] = left as u32;
        self.at[self.heap[right] as usize] = right as u32;
    }

    fn rise(&mut self, mut index: usize) {
        while index > 0 && self.due(index) < self.due((index - 1) / 2) {
            self.swap(index, (index - 1) / 2);
            index = (index - 1) / 2;
        }
    }

    fn sink(&mut self, mut index: usize) {
        loop {
            let children = [2 * index + 1, 2 * index + 2];
            let inside = children.into_iter().filter(|child| *child < self.heap.len());
            let Some(least) = inside.min_by_key(|child| self.due(*child)) else { return };
            if self.due(least) >= self.due(index) {
                return;
            }
            self.swap(index, least);
            index = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn alarms_behave_like_a_sorted_map(
            steps in prop::collection::vec((0u32..8, 0u64..50, 0u32..3), 1..300)
        ) {
            let mut alarms = Alarms::new(8);
            let mut plain: BTreeMap<SlotId, u64> = BTreeMap::new();
            for (slot, time_ns, action) in steps {
                match action {
                    0 => {
                        alarms.set(slot, time_ns);
                        plain.insert(slot, time_ns);
                    }
                    1 => {
                        alarms.clear(slot);
                        plain.remove(&slot);
                    }
                    _ => {
                        let due = alarms.pop_due(time_ns);
                        let earliest = plain.values().min().copied();
                        match due {
                            Some(slot) => prop_assert_eq!(plain.remove(&slot), earliest),
                            None => prop_assert!(earliest.is_none_or(|due_ns| due_ns > time_ns)),
                        }
                    }
                }
                let next_ns = plain.values().min().copied().unwrap_or(u64::MAX);
                prop_assert_eq!(alarms.next_ns(), next_ns);
            }
        }
    }
}
