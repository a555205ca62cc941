//! Subscriptions of sessions that write what is sent, as HTTP/2 does.
//!
//! For: the steps between a connection and its stream, and what the protocol owes the peer after
//! that.
//! In: connections that were established, and bytes that came. Out: bytes in the outbox of a slot,
//! sent when no send is under way.
//! Never: events, or when a connection is retried.

use super::Subscriber;
use crate::driver::{Ahead, Driver, Sending, SlotId};
use crate::pool::Link;
use model::dist::Dist;
use model::tick::ErrorClass;
use wire::response::{Expect, Outcome, ProtocolError};
use wire::session::{Session, Witness};

/// How far the subscription on a connection is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Greeting {
    /// When the connection was established, and when we greeted.
    connected_ns: u64,
    greeted_ns: u64,
    /// The peer has greeted, and the subscription is not sent.
    is_due: bool,
    /// A send is under way.
    sending: bool,
}

/// Takes all bytes of a read, up to the end of the only stream.
#[inline]
pub(super) fn hear<S: Session>(
    session: &mut S,
    input: &mut &[u8],
    expect: Expect,
    (memory, witness): (&mut S::Memory, &mut impl Witness),
) -> Result<Option<Outcome>, ProtocolError> {
    while session.addressee(input)?.is_some() {
        if let Some(outcome) = session.receive(input, expect, memory, witness)? {
            return Ok(Some(outcome));
        }
    }
    Ok(None)
}

impl<D: Driver, S: Session> Subscriber<D, S> {
    // Cold: once for each connection.
    /// A connection is established: says what comes before the subscription.
    pub(super) fn greet(&mut self, slot: SlotId, at_ns: u64) {
        let connected_ns = self.driver.connected_ns(slot, at_ns);
        let stream = self.pool.state(slot);
        stream.greeting = Greeting { connected_ns, greeted_ns: at_ns, ..Greeting::default() };
        stream.is_stream = false;
        stream.session.begin(self.driver.outbox(slot));
        self.flush(slot);
    }

    /// The kernel has taken all of a send.
    pub(super) fn sent(&mut self, slot: SlotId) {
        self.pool.state(slot).greeting.sending = false;
        self.flush(slot);
    }

    /// Bytes came, and for `class` the connection is given up next: subscribes if the peer has
    /// greeted now, and says what is due.
    #[inline]
    pub(super) fn go_on(&mut self, slot: SlotId, class: Option<ErrorClass>, at_ns: u64) {
        let is_opening = self.pool.link(slot) == Link::Opening;
        let stream = self.pool.state(slot);
        stream.session.tell(&mut self.recorder.tick.streams);
        match class {
            Some(ErrorClass::Parse) if !stream.greeting.sending => {
                stream.session.farewell(self.driver.outbox(slot));
                return self.driver.farewell(slot);
            }
            Some(_) => return,
            None => {}
        }
        if is_opening && stream.session.is_ready() {
            stream.greeting.is_due = true;
            let Greeting { connected_ns, greeted_ns, .. } = stream.greeting;
            let tick = &mut self.recorder.tick;
            self.pool.opened(slot, connected_ns, tick);
            tick.histograms[Dist::Settings].record_n(at_ns.saturating_sub(greeted_ns), 1);
        }
        let stream = self.pool.state(slot);
        match stream.greeting.is_due && stream.session.is_leaving() {
            true => self.lose(slot, ErrorClass::Closed, at_ns),
            false => self.flush(slot),
        }
    }

    /// Sends what a connection has to say, unless a send is under way.
    fn flush(&mut self, slot: SlotId) {
        let stream = self.pool.state(slot);
        if stream.greeting.sending {
            return;
        }
        let (tape, outbox) = (&self.tape, self.driver.outbox(slot));
        if stream.greeting.is_due && stream.session.capacity() > 0 {
            stream.greeting.is_due = false;
            let span = stream.session.span(tape, stream.seen.stream, 1);
            stream.session.write(tape.bytes(), span, outbox);
        }
        stream.session.owes(tape.bytes(), outbox);
        if !outbox.is_empty() {
            let sending = self.driver.send_outbox(slot, Ahead::Unanswered);
            stream.greeting.sending = sending == Sending::Underway;
        }
    }
}
