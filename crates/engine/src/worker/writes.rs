//! Sessions that write what is sent: greetings, requests, and what the protocol owes the peer.
//!
//! For: protocols that do not send requests as they lie on the tape. Everything that a connection
//! has to say in a turn goes out in one send.
//! In: requests that leave, and slots with new events. Out: bytes in the outbox of a slot, sent
//! when no send is under way; failures of requests that are cancelled.
//! Never: which request leaves when, or a protocol of its own.
//!
//! What holds a connection up is noted whenever it may have changed: bodies that wait for a window
//! of the peer, and as many streams as the peer allows.
//!
//! A connection counts as open when its peer has greeted. A request that takes too long is
//! cancelled alone, if its connection has shown life since, and not more often than servers bear:
//! some end connections for it (200 in 30 s for Netty).
//!
//! Hot: runs for every request of such a protocol.

use super::{Cause, Worker};
use crate::driver::{Ahead, Driver, Sending, SlotId};
use crate::flight::Batch;
use crate::pool::Link;
use model::streams::StreamTally;
use model::tick::ErrorClass;
use std::ops::Range;
use wire::session::{RequestId, Session};

/// Requests cancelled on one connection within a second, at most.
const CANCELS_MAX: u32 = 5;
const CANCELS_WITHIN_NS: u64 = 1_000_000_000;
/// Memory of an outbox at the start, bytes: enough for what is sent at once in a usual turn.
const OUTBOX_BYTES: usize = 1024;

/// What is kept of each connection of such a protocol.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// When it was established, before any handshake and greeting.
    connected_ns: u64,
    /// When we greeted, and when the peer had.
    greeted_ns: (u64, u64),
    /// It replaces one that was lost.
    is_again: bool,
    /// What was sent before what the outbox has now; `None` while that has no request.
    ahead: Option<Ahead>,
    /// Cancelled requests, and since when they are counted.
    cancels: (u32, u64),
    /// Requests of which a part waits for a window of the peer.
    held: u32,
    /// It has as many streams as the peer allows, and fewer than the load has.
    is_limited: bool,
}

const FRESH: Line = Line {
    connected_ns: 0,
    greeted_ns: (0, 0),
    is_again: false,
    ahead: None,
    cancels: (0, 0),
    held: 0,
    is_limited: false,
};

/// See the module.
#[derive(Debug)]
pub(super) struct Writes {
    lines: Vec<Line>,
    /// Slots with requests in the outbox that are not sent.
    waiting: Vec<SlotId>,
    /// All that are held, and all connections that are limited.
    held: u64,
    limited: u64,
}

/// Why a request found no slot when it was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    /// All slots were in use.
    Slots,
    /// The peer allows fewer streams than there are slots.
    Streams,
    /// A connection was lost, and opened again.
    Connections,
}

impl Writes {
    /// Takes memory for `slots` connections.
    pub fn new(slots: u32) -> Self {
        let waiting = Vec::with_capacity(slots as usize);
        Self { lines: vec![FRESH; slots as usize], waiting, held: 0, limited: 0 }
    }

    /// Notes what holds up a connection now.
    #[inline]
    fn note(&mut self, slot: SlotId, (held, is_limited): (u32, bool)) {
        let line = &mut self.lines[slot as usize];
        if (held, is_limited) != (line.held, line.is_limited) {
            self.held = self.held + u64::from(held) - u64::from(line.held);
            self.limited = self.limited + u64::from(is_limited) - u64::from(line.is_limited);
            (line.held, line.is_limited) = (held, is_limited);
        }
    }

    /// Adds what held connections up for some time.
    #[inline]
    pub fn count(&self, passed_ns: u64, tally: &mut StreamTally) {
        tally.held_ns += self.held * passed_ns;
        tally.limited_ns += self.limited * passed_ns;
    }

    /// A connection is gone.
    pub fn leave(&mut self, slot: SlotId) {
        self.note(slot, (0, false));
    }

    /// A connection is there on which the client sends no greeting.
    pub fn renew(&mut self, slot: SlotId) {
        self.note(slot, (0, false));
        self.lines[slot as usize] = FRESH;
    }

    /// The peer has greeted on a connection; returns how long that took.
    pub fn opened(&mut self, slot: SlotId, at_ns: u64) -> u64 {
        let line = &mut self.lines[slot as usize];
        line.greeted_ns.1 = at_ns;
        at_ns.saturating_sub(line.greeted_ns.0)
    }

    /// A connection replaces one that was lost.
    pub fn replaces(&mut self, slot: SlotId) {
        self.lines[slot as usize].is_again = true;
    }

    /// When a connection was established.
    pub fn connected_ns(&self, slot: SlotId) -> u64 {
        self.lines[slot as usize].connected_ns
    }
}

impl<D: Driver, S: Session> Worker<D, S> {
    // Cold: once for each connection.
    /// A connection is established: says what comes before requests.
    pub(super) fn greet(&mut self, slot: SlotId, at_ns: u64) {
        let connected_ns = self.driver.connected_ns(slot, at_ns);
        self.writes.leave(slot);
        let greeted_ns = (at_ns, 0);
        self.writes.lines[slot as usize] = Line { connected_ns, greeted_ns, ..FRESH };
        let state = self.pool.state(slot);
        let outbox = self.driver.outbox(slot);
        outbox.reserve(OUTBOX_BYTES);
        state.session.begin(outbox);
        (state.sent_in, state.early) = (0, (0, 0));
        state.sending = self.driver.send_outbox(slot, Ahead::Nothing) == Sending::Underway;
    }

    // Cold: once for each connection.
    /// Bytes came before the peer had greeted.
    pub(super) fn greeted(&mut self, slot: SlotId, cause: Option<Cause>, at_ns: u64) {
        if cause.is_some() {
            return self.open_failed(slot, ErrorClass::Connect, at_ns);
        }
        if self.pool.state(slot).session.is_ready() {
            self.opened(slot, at_ns);
        }
    }

    /// Whether a connection takes no new requests and nothing is in flight on it.
    #[inline]
    pub(super) fn is_left(&self, slot: SlotId) -> bool {
        self.pool.state_of(slot).session.is_leaving() && self.flights.on(slot) == 0
    }

    /// Writes one request on a connection that has room for it; it leaves with the next flush.
    #[inline]
    pub(super) fn write(&mut self, slot: SlotId, span: Range<usize>, batch: Batch) -> Sending {
        let line = &mut self.writes.lines[slot as usize];
        if line.ahead.is_none() {
            let is_first = self.flights.on(slot) == 0;
            line.ahead = Some(if is_first { Ahead::Nothing } else { Ahead::Unanswered });
            self.writes.waiting.push(slot);
        }
        let state = self.pool.state(slot);
        state.sent_in = batch.epoch;
        let bytes = if S::FILLS { &self.users.request } else { self.tape.bytes() };
        let place = state.session.write(bytes, span, self.driver.outbox(slot));
        self.checks.restart(slot, RequestId::At(place));
        let books = (&mut *self.recorder.tick, &self.ledger);
        let expect = self.tape.expect(batch.position);
        self.messages.restart(books, (slot, RequestId::At(place)), (&batch, expect));
        self.flights.push_at(slot, place, batch);
        Sending::Done
    }

    /// Sends what connections have to say.
    #[inline]
    pub(super) fn flush_all(&mut self) {
        while let Some(slot) = self.writes.waiting.pop() {
            self.flush(slot);
        }
    }

    /// Sends what a connection has to say, unless a send is under way, and notes what holds it up.
    #[inline]
    pub(super) fn flush(&mut self, slot: SlotId) {
        self.send_outbox(slot);
        let session = &mut self.pool.state(slot).session;
        session.tell(&mut self.recorder.tick.streams);
        let allowed = session.capacity();
        let (held, may_send) = (session.held(), !session.is_leaving());
        let is_full = allowed < self.depth && self.flights.on(slot) >= allowed;
        let is_limited = is_full && may_send && self.pool.link(slot) == Link::Open;
        self.writes.note(slot, (held, is_limited));
    }

    #[inline]
    fn send_outbox(&mut self, slot: SlotId) {
        let state = self.pool.state(slot);
        let ahead = self.writes.lines[slot as usize].ahead;
        if state.sending || ahead.is_none() && !state.session.is_owing() {
            return;
        }
        let outbox = self.driver.outbox(slot);
        state.session.owes(self.tape.bytes(), outbox);
        if outbox.is_empty() {
            return;
        }
        self.writes.lines[slot as usize].ahead = None;
        // What holds no request is never answered.
        let ahead = ahead.unwrap_or(Ahead::Unanswered);
        state.sending = self.driver.send_outbox(slot, ahead) == Sending::Underway;
        if state.sending {
            // Requests that are due go elsewhere until the outbox may change again.
            self.places.remove(slot);
        }
    }

    /// Tells the peer why its connection is given up, which is closed next.
    #[cold]
    pub(super) fn take_leave(&mut self, slot: SlotId) {
        let state = self.pool.state(slot);
        if !state.sending {
            state.session.farewell(self.driver.outbox(slot));
            self.driver.farewell(slot);
        }
    }

    /// Why a request that was due at `due_ns` had to wait for this connection.
    #[inline]
    pub(super) fn lack(&self, slot: SlotId, due_ns: u64) -> Lack {
        let line = &self.writes.lines[slot as usize];
        if line.is_again && line.greeted_ns.1 > due_ns {
            return Lack::Connections;
        }
        let allowed = self.pool.state_of(slot).session.capacity();
        if allowed < self.depth { Lack::Streams } else { Lack::Slots }
    }

    /// Gives up the requests of a connection that took too long, or the connection.
    #[cold]
    pub(super) fn cancel_overdue(&mut self, slot: SlotId, now_ns: u64) {
        let heard_ns = self.pool.state(slot).heard_ns;
        loop {
            let is_overdue = |batch: &Batch| now_ns.saturating_sub(batch.sent_ns) > self.timeout_ns;
            let overdue = self.flights.requests(slot).find(|(_, batch)| is_overdue(batch));
            let Some((request, &batch)) = overdue else { break };
            let RequestId::At(place) = request else { break };
            if heard_ns <= batch.sent_ns || !self.may_cancel(slot, now_ns) {
                self.take_leave(slot);
                return self.abandon(slot, Cause::Failure(ErrorClass::Timeout), now_ns);
            }
            let session = &mut self.pool.state(slot).session;
            session.cancel(place);
            let dropped = session.take_dropped();
            if let Some(counters) = self.ledger.counters(&mut self.recorder.tick, batch.epoch) {
                counters.bytes_untaken += dropped;
            }
            self.samples.done((slot, u64::from(place)));
            self.recorder.tick.streams.cancelled += 1;
            self.flights.land(slot, request, 1, batch.position);
            self.give_up(slot, batch, ErrorClass::Timeout, now_ns);
        }
        match self.is_left(slot) || self.is_used_up(slot) {
            true => self.abandon(slot, Cause::Order, now_ns),
            false => self.top_up(slot, now_ns),
        }
    }

    /// Whether one more request may be cancelled on a connection now; counts it.
    fn may_cancel(&mut self, slot: SlotId, now_ns: u64) -> bool {
        let (count, since_ns) = &mut self.writes.lines[slot as usize].cancels;
        if now_ns.saturating_sub(*since_ns) > CANCELS_WITHIN_NS {
            (*count, *since_ns) = (0, now_ns);
        }
        *count += 1;
        *count <= CANCELS_MAX
    }
}
