//! When the messages of replies that stream arrive.
//!
//! For: calls whose method streams its replies, and conversations, in which each message of the
//! request waits for the reply to the one before it. A message belongs to its call, and so to the
//! part of the level in which that was sent.
//! In: how many messages a read completed, and for which request. Out: counts and times of the
//! current tick.
//! Never: what is in a message, or how the call ends.
//!
//! Messages that one read completed arrived at one instant, so the gaps between them are zero.
//! Without a call whose reply streams there is no memory per connection.
//!
//! Hot: runs for every read of such a reply.

use crate::driver::SlotId;
use crate::flight::Batch;
use crate::ledger::Ledger;
use model::dist::Dist;
use model::tick::Tick;
use wire::response::Expect;
use wire::session::{MessageCount, RequestId};
use wire::tape::Tape;

/// See the module.
#[derive(Debug)]
pub struct Messages {
    /// When the last message came of the request at each place of each connection, nanoseconds; 0
    /// before the first one.
    last_ns: Vec<u64>,
    each: u32,
}

impl Messages {
    /// Takes memory for `slots` connections with so many places each, if any reply is a stream.
    pub fn new(tape: &Tape, slots: u32, places: u32) -> Self {
        let watched = if tape.has_streams() { slots as usize * places as usize } else { 0 };
        Self { last_ns: vec![0; watched], each: places }
    }

    /// Whether any reply is a stream.
    #[inline]
    pub fn are_counted(&self) -> bool {
        !self.last_ns.is_empty()
    }

    /// When the last message came of a request; nothing where none is counted.
    #[inline]
    fn last(&mut self, slot: SlotId, request: RequestId) -> Option<&mut u64> {
        let RequestId::At(place) = request else { return None };
        self.last_ns.get_mut(slot as usize * self.each as usize + place as usize)
    }

    /// A request is sent; the first message of a conversation is due with it.
    #[inline]
    pub fn restart(
        &mut self,
        (tick, ledger): (&mut Tick, &Ledger),
        (slot, request): (SlotId, RequestId),
        (batch, expect): (&Batch, Expect),
    ) {
        let Some(last_ns) = self.last(slot, request) else { return };
        *last_ns = 0;
        if expect == Expect::Conversation
            && let Some(counters) = ledger.counters(tick, batch.epoch)
        {
            counters.messages_due += 1;
        }
    }

    /// A read completed some messages of the request of `batch`.
    pub fn came(
        &mut self,
        (tick, ledger): (&mut Tick, &Ledger),
        (slot, request): (SlotId, RequestId),
        batch: &Batch,
        (count, at_ns): (MessageCount, u64),
    ) {
        let Some(last_ns) = self.last(slot, request) else { return };
        let before_ns = std::mem::replace(last_ns, at_ns);
        let Some(counters) = ledger.counters(tick, batch.epoch) else { return };
        counters.messages += u64::from(count.came);
        counters.messages_due += u64::from(count.due);
        if ledger.is_window(batch.epoch) {
            let (dist, since_ns) = match before_ns {
                0 => (Dist::FirstMessage, batch.planned_ns),
                _ => (Dist::Gap, before_ns),
            };
            let took_ns = at_ns.saturating_sub(since_ns);
            tick.histograms[dist].record_n(took_ns, 1);
            tick.histograms[Dist::Gap].record_n(0, u64::from(count.came) - 1);
            // A message is due when the reply to the one before it came.
            tick.histograms[Dist::Message].record_n(took_ns, u64::from(count.answered));
        }
    }
}
