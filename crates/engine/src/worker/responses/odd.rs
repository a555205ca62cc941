//! What comes that should not: bytes that are no response, that no request asked for, or that come
//! before their request is out.
//!
//! For: naming the fault, and counting it. A response that comes early is a response; the counters
//! say how many did, and what was never sent.
//! In: the bytes around it, and how far the session got. Out: a cause for which the connection is
//! given up, with the fault and its line in the tick.
//! Never: a step of a usual response.
//!
//! Hot: one test in each read, whether a send is under way; the rest is cold.

use super::{Books, Cause, Worker};
use crate::driver::{Driver, SlotId};
use crate::worker::Requester;
use model::tick::{ErrorClass, Tick};
use wire::response::{Expect, ProtocolError};
use wire::session::Session;

/// With this status a server ends an idle connection, without a request (RFC 9110 section 15.5.9).
const IDLE: [&[u8]; 2] = [b"HTTP/1.1 408", b"HTTP/1.0 408"];

/// The account before a read, while a send was under way.
#[derive(Clone, Copy)]
pub(super) struct Early {
    responses: u64,
    good: u64,
}

/// Good responses of a tick, measured or not.
fn good(tick: &Tick) -> u64 {
    tick.measured.completed + tick.unmeasured.completed
}

impl Early {
    #[cold]
    pub fn begin(tick: &Tick, responses: u64) -> Self {
        Self { responses, good: good(tick) }
    }
}

impl<S: Session> Books<'_, S> {
    /// The session refused what came: `at` is where in `input`. `before` describes the request of
    /// the response before it, if there was one. What came in the same read as that response is
    /// more of it; what came later may be the response that is due, and garbled.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(
        &mut self,
        (session, before): (&S, Expect),
        error: ProtocolError,
        (input, at): (&[u8], usize),
        at_ns: u64,
    ) -> Cause {
        let begin = input[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let line = &input[begin..];
        if S::WRITES {
            self.samples.fault(self.tick, at_ns, (error, session.progress()), (&[], 0));
            return Cause::Failure(ErrorClass::Parse);
        }
        let is_behind = error == ProtocolError::NotHttp && !line.starts_with(b"HTTP/");
        let is_later = input.len() == self.offered;
        let unasked = if is_behind { session.unasked(line, before) } else { None };
        let unasked = unasked.filter(|fault| *fault != ProtocolError::LongBody || !is_later);
        let fault = unasked.unwrap_or(error);
        let progress = session.progress();
        self.samples.fault(self.tick, at_ns, (fault, progress), (input, at));
        match fault.is_unasked() {
            true => Cause::Unsolicited,
            false => Cause::Failure(ErrorClass::Parse),
        }
    }

    /// Bytes came while no request was in flight on their connection. Empty lines are skipped, as
    /// the session skips them before a response; any other bytes answer no request, so the position
    /// in the stream is lost and the connection is no longer usable. A server may end an idle
    /// connection with status 408.
    #[cold]
    #[inline(never)]
    pub(super) fn unasked(
        &mut self,
        state: &Requester<S>,
        input: &[u8],
        at_ns: u64,
    ) -> Option<Cause> {
        self.tick.accounting.stray_bytes += input.len() as u64;
        let start = input.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
        let first = &input[start..];
        if IDLE.iter().any(|idle| first.starts_with(idle)) {
            return Some(Cause::Order);
        }
        let before = self.before(state.position);
        let unasked = state.session.unasked(first, before);
        let fault = unasked.unwrap_or(match first.starts_with(b"HTTP/") {
            true => ProtocolError::ExtraResponse,
            false => ProtocolError::NotHttp,
        });
        self.samples.fault(self.tick, at_ns, (fault, state.session.progress()), (first, 0));
        Some(Cause::Unsolicited)
    }

    /// What the response to the request before the one at `position` looked like.
    pub(super) fn before(&self, position: u32) -> Expect {
        let period = self.tape.period();
        self.tape.expect((position + period - 1) % period)
    }
}

impl<D: Driver, S: Session> Worker<D, S> {
    /// Responses came while a send was under way. Those to its requests that the kernel has not
    /// taken whole are early.
    #[cold]
    #[inline(never)]
    pub(super) fn count_early(&mut self, slot: SlotId, before: Early) {
        let untaken = self.driver.untaken(slot);
        let newest = self
            .flights
            .batches(slot)
            .last()
            .map_or(0, |batch| self.tape.span(batch.position, batch.count).len());
        let state = self.pool.state(slot);
        let landed = (state.responses - before.responses) as u32;
        // From the last response back: what lies behind a request of it is the rest of the send.
        let (mut early, mut behind) = (0, newest);
        let period = self.tape.period();
        let in_flight = self.flights.on(slot) % period;
        let mut position = (state.position + period - in_flight) % period;
        while early < landed && behind < untaken {
            position = (position + period - 1) % period;
            behind += self.tape.span(position, 1).len();
            early += 1;
        }
        if early == 0 {
            return;
        }
        let good = good(&self.recorder.tick).saturating_sub(before.good).min(u64::from(early));
        self.early_sends += u32::from(state.early.0 == 0);
        state.early = (state.early.0 + early, state.early.1 + good as u32);
        if let Some(counters) = self.ledger.counters(&mut self.recorder.tick, state.sent_in) {
            counters.early += u64::from(early);
        }
    }

    /// The kernel has taken all of a send, or never will.
    #[inline]
    pub(in crate::worker) fn rest_is_sent(&mut self, slot: SlotId) -> u32 {
        let (early, good) = std::mem::take(&mut self.pool.state(slot).early);
        self.early_sends -= u32::from(early > 0);
        good
    }

    /// A connection is given up: what the kernel has not taken of its last send is never sent.
    pub(in crate::worker) fn leave_unsent(&mut self, slot: SlotId) {
        self.count_untaken(slot);
        let good = self.rest_is_sent(slot);
        let sent_in = self.pool.state(slot).sent_in;
        if let Some(counters) = self.ledger.counters(&mut self.recorder.tick, sent_in) {
            counters.cut_good += u64::from(good);
        }
    }

    /// Counts what the kernel has not taken of the last send of a connection.
    pub(in crate::worker) fn count_untaken(&mut self, slot: SlotId) {
        let state = self.pool.state(slot);
        let held_bytes = state.session.held_bytes();
        if !state.sending && held_bytes == 0 {
            return;
        }
        let untaken = if state.sending { self.driver.untaken(slot) as u64 } else { 0 };
        if let Some(counters) = self.ledger.counters(&mut self.recorder.tick, state.sent_in) {
            counters.bytes_untaken += untaken + held_bytes;
        }
    }

    /// The oldest request of a connection got no whole response in time: notes how much had come.
    #[cold]
    pub(in crate::worker) fn note_stalled(&mut self, slot: SlotId, at_ns: u64) {
        let has_begun = self.pool.state(slot).session.progress().came_bytes > 0;
        if has_begun && self.flights.on(slot) > 0 {
            self.note_progress(slot, ProtocolError::Stalled, at_ns);
        }
    }

    /// A response remained incomplete.
    #[cold]
    pub(super) fn note_progress(&mut self, slot: SlotId, fault: ProtocolError, at_ns: u64) {
        let progress = self.pool.state(slot).session.progress();
        self.samples.fault(&mut self.recorder.tick, at_ns, (fault, progress), (&[], 0));
    }
}
