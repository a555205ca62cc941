//! Requests that are lost with their connection, and those that are sent again on the next one.
//!
//! For: a connection that ends while requests are in flight on it.
//! In: why it ended. Out: failures in the ledger; or the same requests, still in flight and with
//! their first stamps, on the connection that replaces it.
//! Never: a second count of a request as sent, or a request of an earlier level.
//!
//! A request that the server did not process may be sent again (RFC 9112, 9.3.1). It stays in
//! flight meanwhile: `sent` counts it once, its latency and its time-out count from its first send,
//! and `retried` counts each time that it was sent again.

use super::responses::{Who, slow};
use super::{Cause, Worker};
use crate::driver::{Ahead, Driver, Sending, SlotId};
use crate::flight::Batch;
use crate::pool::Link;
use model::dist::Dist;
use model::load::Retry;
use model::slow::SlowEnd;
use model::tick::{Crossed, ErrorClass};
use wire::session::Session;

impl<D: Driver, S: Session> Worker<D, S> {
    /// A connection ended with requests in flight: fails them, unless they are sent again.
    #[cold]
    pub(super) fn lose(&mut self, slot: SlotId, cause: Cause, now_ns: u64) {
        if cause == Cause::Crossed {
            self.note_crossed(slot);
        }
        let class = match cause {
            // Requests behind a response that announced the end are lost as well.
            Cause::Order | Cause::Planned | Cause::Crossed => ErrorClass::Unprocessed,
            Cause::Unsolicited => ErrorClass::Unsolicited,
            Cause::Failure(class) if class.is_of_requests() => class,
            // The connection on which they were to be sent again was never open.
            Cause::Failure(_) => ErrorClass::Unprocessed,
        };
        let is_crossed = matches!(cause, Cause::Order | Cause::Crossed);
        if is_crossed && self.may_send_again(slot, now_ns) {
            return;
        }
        while let Some(batch) = self.flights.pop_batch(slot) {
            self.give_up(slot, batch, class, now_ns);
        }
    }

    /// Fails requests that get no response, which were in flight on a connection.
    pub(super) fn give_up(&mut self, slot: SlotId, batch: Batch, class: ErrorClass, now_ns: u64) {
        if class == ErrorClass::Timeout && self.ledger.is_window(batch.epoch) {
            let waited_ns = now_ns.saturating_sub(batch.planned_ns);
            self.recorder.tick.histograms[Dist::AtLeast]
                .record_n(waited_ns, u64::from(batch.count));
            let place = (slot, self.pool.state_of(slot).responses);
            let who = Who { place, tape: &self.tape, shard: &self.shard };
            self.slowest.keep_all(slow(who, &batch, now_ns, SlowEnd::TimedOut), batch.count);
        }
        self.fail(batch, class, now_ns);
    }

    fn note_crossed(&mut self, slot: SlotId) {
        let sent_ns = self.flights.oldest(slot).map_or(0, |batch| batch.sent_ns);
        let state = self.pool.state(slot);
        let idle_ns = sent_ns.saturating_sub(state.heard_ns);
        self.recorder.tick.turnover.crossed += &Crossed::one(state.responses, idle_ns);
    }

    /// Whether all requests in flight on a connection may be sent again, and a connection replaces
    /// it. They lie one behind the other on the tape.
    fn may_send_again(&self, slot: SlotId, now_ns: u64) -> bool {
        let is_replaced =
            slot < self.pool.wanted() && !self.plans_starts() && self.is_renewed(slot, now_ns);
        // What a session wrote names its streams.
        self.retry != Retry::Never
            && !S::WRITES
            && is_replaced
            && self.flights.on(slot) <= self.tape.batch_max()
            && self.flights.batches(slot).all(|batch| {
                self.ledger.is_open(batch.epoch)
                    && self.tape.is_repeatable(batch.position, batch.count, self.retry)
            })
    }

    /// Sends what the connection before this one left, before anything new.
    pub(super) fn send_again(&mut self, slot: SlotId) {
        let Some(&first) = self.flights.oldest(slot) else { return };
        let count = self.flights.on(slot);
        for batch in self.flights.batches(slot) {
            let bytes = self.tape.span(batch.position, batch.count).len() as u64;
            let tick = &mut *self.recorder.tick;
            let counters = match self.ledger.is_window(batch.epoch) {
                true => &mut tick.measured,
                false => &mut tick.unmeasured,
            };
            counters.retried += u64::from(batch.count);
            counters.bytes_sent += bytes;
        }
        let state = self.pool.state(slot);
        state.sends_left = state.sends_left.saturating_sub(count);
        let span = self.tape.span(first.position, count);
        if self.driver.send(slot, span, Ahead::Nothing) == Sending::Underway {
            let state = self.pool.state(slot);
            (state.sending, state.sent_in, state.early) = (true, first.epoch, (0, 0));
        }
    }

    /// The level is over: what waits for a new connection is not sent again.
    pub(super) fn forget_lost(&mut self) {
        for slot in self.pool.all() {
            while self.pool.link(slot) != Link::Open && self.flights.pop_batch(slot).is_some() {}
        }
    }
}
