//! TLS around any driver: a slot is open when its handshake is done; what is sent and received is
//! encrypted in between.
//!
//! Records are written to the slot's outbox and go from there to the kernel; a large piece of the
//! tape goes in portions. Received records are decrypted into one buffer per worker, which the
//! worker releases before it asks for the next event. A request is stamped before it is encrypted
//! and a response when its records arrived, so encryption counts as latency and decryption does
//! not.
//!
//! Hot: runs for every event.

use super::{Ahead, Buffer, Driver, End, Event, Sending, SlotId};
use model::dist::Dist;
use model::histogram::Histogram;
use model::tick::{ErrorClass, Tick};
use model::tls::{TlsCause, TlsTally};
use std::ops::Range;
use std::sync::Arc;
use wire::tape::Tape;
use wire::tls::{Client, Failure, Recipe, TlsSession};

/// Plain bytes given to the worker at once.
const PLAIN_BYTES: usize = 64 * 1024;
/// Plain bytes encrypted before they are submitted.
const PORTION_BYTES: usize = 64 * 1024;

/// One slot.
struct Secured {
    /// Present once the slot is connected.
    session: Option<Box<TlsSession>>,
    /// When the connection was established.
    connected_ns: u64,
    /// Bytes of the tape that are not yet encrypted.
    plain: Range<usize>,
    /// Plain bytes that are not on the tape.
    own: Vec<u8>,
    /// The outbox is being sent.
    is_underway: bool,
    /// The worker waits for an event that says its bytes were sent.
    is_awaited: bool,
}

/// Records that arrived and are being decrypted.
#[derive(Debug, Clone, Copy)]
struct Feed {
    slot: SlotId,
    at_ns: u64,
    buffer: Buffer,
    taken: usize,
}

/// See the module.
pub struct Tls<D> {
    inner: D,
    tape: Arc<Tape>,
    client: Client,
    slots: Vec<Secured>,
    feed: Option<Feed>,
    plain: Box<[u8]>,
    /// When the wait of this turn returned.
    woken_ns: u64,
    tally: TlsTally,
    handshake: Histogram,
}

impl<D: Driver> Tls<D> {
    /// Wraps `inner`, for requests of `tape`.
    pub fn new(inner: D, recipe: &Recipe, tape: &Arc<Tape>, slots: u32) -> Self {
        let closed = || Secured {
            session: None,
            connected_ns: 0,
            plain: 0..0,
            own: Vec::new(),
            is_underway: false,
            is_awaited: false,
        };
        let woken_ns = inner.now_ns();
        Self {
            inner,
            tape: Arc::clone(tape),
            client: Client::new(recipe, slots),
            slots: (0..slots).map(|_| closed()).collect(),
            feed: None,
            plain: vec![0; PLAIN_BYTES].into_boxed_slice(),
            woken_ns,
            tally: TlsTally::default(),
            handshake: Histogram::new(),
        }
    }

    /// Connected: starts the handshake. The stamp of the event is late by the cryptography of
    /// earlier events in this turn; the stamp of the turn is not.
    // Cold: takes the memory of a connection.
    fn connected(&mut self, slot: SlotId) {
        let secured = &mut self.slots[slot as usize];
        secured.session = Some(Box::new(self.client.session()));
        secured.connected_ns = self.woken_ns;
        self.pump(slot);
    }

    /// Encrypts and submits as much as possible.
    #[inline]
    fn pump(&mut self, slot: SlotId) -> Sending {
        let secured = &mut self.slots[slot as usize];
        let Some(session) = &mut secured.session else { return Sending::Done };
        while !secured.is_underway {
            if !secured.plain.is_empty() {
                let end = secured.plain.end.min(secured.plain.start + PORTION_BYTES);
                session.send(&self.tape.bytes()[secured.plain.start..end]);
                secured.plain.start = end;
            }
            if !secured.own.is_empty() {
                session.send(&secured.own);
                secured.own.clear();
            }
            let outbox = self.inner.outbox(slot);
            session.take_output(outbox);
            if outbox.is_empty() {
                return Sending::Done;
            }
            secured.is_underway =
                self.inner.send_outbox(slot, Ahead::Unanswered) == Sending::Underway;
        }
        Sending::Underway
    }

    #[inline]
    fn sent(&mut self, slot: SlotId, at_ns: u64) -> Option<Event> {
        self.slots[slot as usize].is_underway = false;
        let is_done = self.pump(slot) == Sending::Done;
        let secured = &mut self.slots[slot as usize];
        if is_done && std::mem::take(&mut secured.is_awaited) {
            return Some(Event::Sent { slot, at_ns });
        }
        None
    }

    /// Continues with what arrived last; `None` when it is used up.
    #[inline]
    fn go_on(&mut self) -> Option<Event> {
        let Feed { slot, at_ns, buffer, taken } = self.feed?;
        let Some(session) = &mut self.slots[slot as usize].session else {
            self.end_feed();
            return None;
        };
        let was_shaking = session.is_shaking();
        let mut input = &self.inner.bytes(buffer)[taken..];
        let received = session.receive(&mut input, &mut self.plain);
        let left = input.len();
        let (is_shaking, is_over) = (session.is_shaking(), session.peer_has_closed());
        if let Some(feed) = &mut self.feed {
            feed.taken = buffer.length as usize - left;
        }
        match received {
            Ok(_) if was_shaking && !is_shaking => Some(self.shaken(slot)),
            Ok(0) => {
                self.end_feed();
                self.pump(slot);
                is_over.then(|| self.over(slot, End::Closed, at_ns))
            }
            Ok(length) => {
                let buffer = Buffer { id: 0, length: length as u32 };
                Some(Event::Received { slot, at_ns, buffer })
            }
            Err(failure) => {
                self.end_feed();
                Some(self.failed(slot, &failure, at_ns))
            }
        }
    }

    fn end_feed(&mut self) {
        if let Some(feed) = self.feed.take() {
            self.inner.release(feed.buffer);
        }
    }

    /// The handshake is done. Its last records go with the first request, or when the received
    /// bytes are used up.
    fn shaken(&mut self, slot: SlotId) -> Event {
        // Rare, so it gets its own stamp, after the cryptography.
        let at_ns = self.inner.now_ns();
        let secured = &self.slots[slot as usize];
        let is_resumed = secured.session.as_ref().is_some_and(|session| session.is_resumed());
        self.tally.handshakes += 1;
        self.tally.resumed += u64::from(is_resumed);
        self.handshake.record_n(at_ns.saturating_sub(secured.connected_ns), 1);
        Event::Opened { slot, at_ns }
    }

    /// TLS itself failed. The close that follows sends the alert if that is still possible.
    fn failed(&mut self, slot: SlotId, failure: &Failure, at_ns: u64) -> Event {
        self.tally.fail(failure.cause);
        let session = &self.slots[slot as usize].session;
        if session.as_ref().is_some_and(|session| session.is_shaking()) {
            return Event::OpenFailed { slot, class: ErrorClass::Tls, at_ns };
        }
        Event::Ended { slot, end: End::Reset, at_ns }
    }

    /// The connection ended.
    fn over(&mut self, slot: SlotId, end: End, at_ns: u64) -> Event {
        let session = &self.slots[slot as usize].session;
        if session.as_ref().is_some_and(|session| session.is_shaking()) {
            self.tally.fail(TlsCause::Closed);
            return Event::OpenFailed { slot, class: ErrorClass::Tls, at_ns };
        }
        Event::Ended { slot, end, at_ns }
    }

    /// Sends the records that still wait, if the kernel takes them at once.
    fn say_last(&mut self, slot: SlotId) {
        let secured = &mut self.slots[slot as usize];
        let Some(session) = &mut secured.session else { return };
        if !secured.is_underway {
            session.take_output(self.inner.outbox(slot));
            self.inner.farewell(slot);
        }
    }

    /// What an event of the driver inside means; `None` when it is about TLS alone.
    #[inline]
    fn translate(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Received { slot, at_ns, buffer } => {
                self.feed = Some(Feed { slot, at_ns, buffer, taken: 0 });
                None
            }
            Event::Sent { slot, at_ns } => self.sent(slot, at_ns),
            Event::Opened { slot, .. } => {
                self.connected(slot);
                None
            }
            Event::OpenFailed { .. } => Some(event),
            Event::Ended { slot, end, at_ns } => {
                let end = if end == End::Closed { End::Truncated } else { end };
                Some(self.over(slot, end, at_ns))
            }
        }
    }
}

impl<D: Driver> Driver for Tls<D> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }

    #[inline]
    fn cpu_ns(&self) -> (u64, u64) {
        self.inner.cpu_ns()
    }

    fn open(&mut self, slot: SlotId, address: u32) {
        self.inner.open(slot, address);
    }

    #[inline]
    fn send(&mut self, slot: SlotId, span: Range<usize>, _ahead: Ahead) -> Sending {
        self.slots[slot as usize].plain = span;
        let sending = self.pump(slot);
        self.slots[slot as usize].is_awaited = sending == Sending::Underway;
        sending
    }

    #[inline]
    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        &mut self.slots[slot as usize].own
    }

    #[inline]
    fn send_outbox(&mut self, slot: SlotId, _ahead: Ahead) -> Sending {
        let sending = self.pump(slot);
        self.slots[slot as usize].is_awaited = sending == Sending::Underway;
        sending
    }

    fn untaken(&self, slot: SlotId) -> usize {
        self.slots[slot as usize].plain.len() + self.inner.untaken(slot)
    }

    /// The close that follows sends it, before its own last record.
    fn farewell(&mut self, slot: SlotId) {
        let secured = &mut self.slots[slot as usize];
        if let Some(session) = &mut secured.session
            && !secured.is_underway
        {
            session.send(&secured.own);
            secured.own.clear();
        }
    }

    fn close(&mut self, slot: SlotId) {
        if self.feed.is_some_and(|feed| feed.slot == slot) {
            self.end_feed();
        }
        if let Some(session) = &mut self.slots[slot as usize].session {
            session.close();
            self.say_last(slot);
        }
        let secured = &mut self.slots[slot as usize];
        secured.session = None;
        secured.plain = 0..0;
        secured.own.clear();
        (secured.is_underway, secured.is_awaited) = (false, false);
        self.inner.close(slot);
    }

    #[inline]
    fn wait(&mut self, now_ns: u64, until_ns: u64) -> u64 {
        self.woken_ns = self.inner.wait(now_ns, until_ns);
        self.woken_ns
    }

    #[inline]
    fn left_from_before(&mut self, since_ns: u64) -> u64 {
        self.inner.left_from_before(since_ns)
    }

    #[inline]
    fn next(&mut self) -> Option<Event> {
        loop {
            while self.feed.is_some() {
                if let Some(event) = self.go_on() {
                    return Some(event);
                }
            }
            let event = self.inner.next()?;
            if let Some(event) = self.translate(event) {
                return Some(event);
            }
        }
    }

    #[inline]
    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.plain[..buffer.length as usize]
    }

    #[inline]
    fn release(&mut self, _buffer: Buffer) {}

    fn connected_ns(&self, slot: SlotId, _opened_ns: u64) -> u64 {
        self.slots[slot as usize].connected_ns
    }

    fn tally(&mut self, tick: &mut Tick) {
        tick.tls += &std::mem::take(&mut self.tally);
        tick.histograms[Dist::Handshake].merge(&self.handshake);
        self.handshake.clear();
        self.inner.tally(tick);
    }
}
