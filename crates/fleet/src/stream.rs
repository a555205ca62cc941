//! Delivers items once and in order, over messages that may be lost, duplicated or late.
//!
//! The sender keeps each item until the receiver has acknowledged it, and sends it again after a
//! while without any acknowledgement. The receiver takes each number once. Both have size limits.
//!
//! A slow link is not a link that loses: while acknowledgements come, nothing is sent again, and
//! few bytes are under way at once.

use crate::frame::{ITEMS_MAX, Item};
use crate::{BEAT_NS, ITEM_BYTES_MAX};
use std::collections::{BTreeMap, VecDeque};

/// After this time, nanoseconds, an agent sends items without an acknowledgement again:
/// acknowledgements come with the beats of the controller, and two of them may be lost.
pub const UP_AGAIN_NS: u64 = 800_000_000;
/// After this time, nanoseconds, a controller sends items without an acknowledgement again: agents
/// acknowledge at once.
pub const DOWN_AGAIN_NS: u64 = BEAT_NS;
/// Longest time until an agent on a slow link sends again, nanoseconds.
const UP_AGAIN_MAX_NS: u64 = 16_000_000_000;
/// Size limit of the items in one message, bytes; a larger item goes alone. A message takes half a
/// second over a link of 1 Mbit/s, and every message shows that its sender is there.
pub const BATCH_BYTES_MAX: usize = 64 << 10;
/// So few bytes do not wait long for a slow link: acknowledgements of earlier items do not postpone
/// them. Orders have less.
const FEW_BYTES: usize = 4 << 10;
/// Most bytes that are under way without an acknowledgement.
const UNDER_WAY_MAX: usize = 2 << 20;
/// How many items may arrive ahead of a missing one.
const AHEAD_MAX: u64 = 4096;
/// Size limit of such items, bytes.
const AHEAD_BYTES_MAX: usize = 16 << 20;

/// An item without an acknowledgement.
#[derive(Debug)]
struct Waiting {
    number: u64,
    bytes: Vec<u8>,
    /// When it was sent the first time, and the last time.
    first_ns: Option<u64>,
    sent_ns: Option<u64>,
}

/// The sender.
#[derive(Debug)]
pub struct Outbox {
    again_ns: u64,
    /// The longest that `patience_ns` may be.
    again_max_ns: u64,
    /// How long to wait for an acknowledgement: as long as the last one took, at least `again_ns`.
    patience_ns: u64,
    /// When the item that was acknowledged last was first sent, until [`Self::due`] has seen it.
    acknowledged_ns: Option<u64>,
    /// When the last acknowledgement came.
    progress_ns: u64,
    last: u64,
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

impl Outbox {
    /// An empty outbox. Items are sent again when there was no acknowledgement for `again_ns`. An
    /// agent's outbox waits longer on a link that takes longer; orders are small.
    pub fn new(again_ns: u64) -> Self {
        let again_max_ns = if again_ns == UP_AGAIN_NS { UP_AGAIN_MAX_NS } else { again_ns };
        Self {
            again_ns,
            again_max_ns,
            patience_ns: again_ns,
            acknowledged_ns: None,
            progress_ns: 0,
            last: 0,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Adds an item.
    pub fn push(&mut self, bytes: Vec<u8>) {
        debug_assert!(bytes.len() <= ITEM_BYTES_MAX);
        self.last += 1;
        self.bytes += bytes.len();
        self.waiting.push_back(Waiting { number: self.last, bytes, first_ns: None, sent_ns: None });
    }

    /// The receiver has taken all items up to this one.
    pub fn acknowledged(&mut self, number: u64) {
        while self.waiting.front().is_some_and(|first| first.number <= number.min(self.last)) {
            let Some(first) = self.waiting.pop_front() else { return };
            self.bytes -= first.bytes.len();
            self.acknowledged_ns = first.first_ns.or(self.acknowledged_ns);
        }
    }

    /// Items to send now, as many as fit into one message; may be empty. They count as sent.
    pub fn due(&mut self, now_ns: u64) -> Vec<Item> {
        if let Some(first_ns) = self.acknowledged_ns.take() {
            let took_ns = now_ns.saturating_sub(first_ns);
            self.progress_ns = now_ns;
            self.patience_ns = took_ns.clamp(self.again_ns, self.again_max_ns);
        }
        let (mut items, mut bytes, mut under_way) = (Vec::new(), 0, 0);
        // Little that waits takes no longer, however long more took: it was lost.
        let is_little = self.bytes <= BATCH_BYTES_MAX;
        let patience_ns = if is_little { self.again_ns } else { self.patience_ns };
        let progress_ns = if self.bytes > FEW_BYTES { self.progress_ns } else { 0 };
        for waiting in &mut self.waiting {
            let is_due = waiting.sent_ns.is_none_or(|sent_ns| {
                // If the clock went back, the time since then is not known.
                let since_ns = sent_ns.max(progress_ns);
                now_ns < since_ns || now_ns - since_ns >= patience_ns
            });
            under_way += waiting.bytes.len();
            // The first item always goes.
            if under_way > UNDER_WAY_MAX && under_way > waiting.bytes.len() {
                break;
            }
            if !is_due {
                continue;
            }
            bytes += waiting.bytes.len();
            if items.len() == ITEMS_MAX || !items.is_empty() && bytes > BATCH_BYTES_MAX {
                break;
            }
            waiting.sent_ns = Some(now_ns);
            waiting.first_ns = waiting.first_ns.or(Some(now_ns));
            items.push((waiting.number, waiting.bytes.clone()));
        }
        items
    }

    /// The line was down: sends everything again that was not acknowledged.
    pub fn send_again(&mut self) {
        self.waiting.iter_mut().for_each(|waiting| waiting.sent_ns = None);
    }

    /// How many bytes are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the receiver has taken everything.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// The receiver.
#[derive(Debug, Default)]
pub struct Inbox {
    taken: u64,
    ahead: BTreeMap<u64, Vec<u8>>,
    ahead_bytes: usize,
}

impl Inbox {
    /// Takes an item that arrived. A duplicate, or one that is too far ahead, is dropped: the
    /// sender sends items without an acknowledgement again.
    pub fn put(&mut self, (number, bytes): Item) {
        let is_near = number > self.taken && number - self.taken <= AHEAD_MAX;
        let is_next = number == self.taken + 1;
        let has_room = is_next || self.ahead_bytes + bytes.len() <= AHEAD_BYTES_MAX;
        if is_near && has_room && !self.ahead.contains_key(&number) {
            self.ahead_bytes += bytes.len();
            self.ahead.insert(number, bytes);
        }
    }

    /// The next item in order, if it has arrived.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let bytes = self.ahead.remove(&(self.taken + 1))?;
        self.taken += 1;
        self.ahead_bytes -= bytes.len();
        Some(bytes)
    }

    /// The number of the last item that was taken, for the acknowledgement.
    pub fn taken(&self) -> u64 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Random;

    #[test]
    fn every_item_arrives_once_and_in_order_whatever_is_lost() {
        for seed in 0..50 {
            let mut random = Random::new(seed, 1);
            let (mut outbox, mut inbox, mut got) =
                (Outbox::new(UP_AGAIN_NS), Inbox::default(), Vec::new());
            let mut under_way: Vec<Vec<Item>> = Vec::new();
            let mut now_ns = 0;
            let mut pushed = 0u64;
            while pushed < 200 || !outbox.is_empty() {
                now_ns += 50_000_000;
                if pushed < 200 {
                    pushed += 1;
                    outbox.push(pushed.to_be_bytes().to_vec());
                }
                under_way.push(outbox.due(now_ns));
                let place = random.between(0, under_way.len() as u64 - 1) as usize;
                if random.uniform() < 0.7 {
                    let batch = under_way[place].clone();
                    if random.uniform() < 0.8 {
                        under_way.swap_remove(place);
                    }
                    batch.into_iter().for_each(|item| inbox.put(item));
                } else if random.uniform() < 0.3 {
                    under_way.swap_remove(place);
                }
                while let Some(bytes) = inbox.take() {
                    got.push(u64::from_be_bytes(bytes.try_into().unwrap()));
                }
                if random.uniform() < 0.5 {
                    outbox.acknowledged(inbox.taken());
                }
            }
            assert_eq!(got, (1..=200).collect::<Vec<_>>(), "seed {seed}");
            assert_eq!((outbox.bytes(), inbox.ahead_bytes), (0, 0));
        }
    }

    /// A report of 4 MB over a link of 1 Mbit/s, with an acknowledgement every 250 ms.
    #[test]
    fn a_slow_link_carries_each_item_once() {
        const BYTES_PER_MS: usize = 125;
        let (mut outbox, mut inbox) = (Outbox::new(UP_AGAIN_NS), Inbox::default());
        (0..128).for_each(|_| outbox.push(vec![7; 32 << 10]));
        let mut under_way: VecDeque<Item> = VecDeque::new();
        let (mut carried, mut room) = (0, 0);
        for now_ms in 0..60_000u64 {
            under_way.extend(outbox.due(now_ms * 1_000_000));
            let queued: usize = under_way.iter().map(|(_, bytes)| bytes.len()).sum();
            assert!(queued <= UNDER_WAY_MAX, "{queued} bytes wait for the link");
            room = if under_way.is_empty() { 0 } else { room + BYTES_PER_MS };
            while under_way.front().is_some_and(|(_, bytes)| bytes.len() <= room) {
                let item = under_way.pop_front().unwrap();
                (room, carried) = (room - item.1.len(), carried + 1);
                inbox.put(item);
                while inbox.take().is_some() {}
            }
            if now_ms % 250 == 0 {
                outbox.acknowledged(inbox.taken());
            }
        }
        assert_eq!((carried, inbox.taken(), outbox.is_empty()), (128, 128, true));
    }

    #[test]
    fn what_nobody_sent_takes_no_memory() {
        let mut inbox = Inbox::default();
        inbox.put((u64::MAX, vec![0; 100]));
        inbox.put((0, vec![0; 100]));
        (2..200).for_each(|number| inbox.put((number, vec![0; ITEM_BYTES_MAX])));
        assert!(inbox.ahead_bytes <= AHEAD_BYTES_MAX && inbox.take().is_none());
        inbox.put((1, vec![1]));
        assert_eq!(inbox.take(), Some(vec![1]), "the missing item always fits");
    }

    #[test]
    fn an_acknowledgement_of_what_was_never_sent_frees_no_future() {
        let mut outbox = Outbox::new(UP_AGAIN_NS);
        outbox.push(vec![1]);
        outbox.acknowledged(u64::MAX);
        outbox.push(vec![2]);
        assert_eq!(outbox.due(1), [(2, vec![2])]);
    }
}
