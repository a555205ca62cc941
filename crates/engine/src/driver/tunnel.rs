//! A tunnel through an HTTP proxy, around any driver: a slot is open when the proxy has agreed.
//!
//! After that, events and bytes pass through unchanged.
//!
//! Hot: runs for every event.

use super::{Ahead, Buffer, Driver, Event, Sending, SlotId};
use model::tick::{ErrorClass, Tick};
use model::tls::TlsTally;
use std::ops::Range;
use std::sync::Arc;
use wire::tunnel::{ProxyResponse, response};

/// The state of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TunnelState {
    /// Not connected to the proxy.
    Closed,
    /// The kernel has not taken the whole request yet.
    Asking,
    /// The proxy has not responded.
    Asked,
    /// The tunnel is open, or it was given up.
    Through,
}

struct Passage {
    stage: TunnelState,
    /// The proxy's response so far.
    head: Vec<u8>,
}

/// See the module.
pub struct Tunnel<D> {
    inner: D,
    request: Arc<[u8]>,
    passages: Vec<Passage>,
    tally: TlsTally,
}

impl<D: Driver> Tunnel<D> {
    /// Wraps `inner`, with the request that asks for a tunnel.
    pub fn new(inner: D, request: &Arc<[u8]>, slots: u32) -> Self {
        let closed = || Passage { stage: TunnelState::Closed, head: Vec::new() };
        Self {
            inner,
            request: Arc::clone(request),
            passages: (0..slots).map(|_| closed()).collect(),
            tally: TlsTally::default(),
        }
    }

    /// Connected to the proxy: sends the request.
    fn connected(&mut self, slot: SlotId) -> Option<Event> {
        self.inner.outbox(slot).extend_from_slice(&self.request);
        let passage = &mut self.passages[slot as usize];
        passage.head.clear();
        passage.stage = match self.inner.send_outbox(slot, Ahead::Unanswered) {
            Sending::Done => TunnelState::Asked,
            Sending::Underway => TunnelState::Asking,
        };
        None
    }

    fn asked(&mut self, slot: SlotId, at_ns: u64) -> Option<Event> {
        self.passages[slot as usize].stage = TunnelState::Asked;
        self.judge(slot, at_ns)
    }

    fn answered(&mut self, slot: SlotId, at_ns: u64, buffer: Buffer) -> Option<Event> {
        let passage = &mut self.passages[slot as usize];
        passage.head.extend_from_slice(self.inner.bytes(buffer));
        self.inner.release(buffer);
        self.judge(slot, at_ns)
    }

    /// What the response so far means. The slot may not open before the request has left the
    /// outbox.
    fn judge(&mut self, slot: SlotId, at_ns: u64) -> Option<Event> {
        let passage = &mut self.passages[slot as usize];
        let status = match response(&passage.head) {
            ProxyResponse::Partial => return None,
            ProxyResponse::Open if passage.stage == TunnelState::Asking => return None,
            ProxyResponse::Open => {
                passage.stage = TunnelState::Through;
                return Some(Event::Opened { slot, at_ns });
            }
            ProxyResponse::Refused(status) => status,
            ProxyResponse::Malformed => 0,
        };
        self.tally.refused += 1;
        self.tally.refused_status = status;
        Some(self.fail(slot, at_ns))
    }

    fn fail(&mut self, slot: SlotId, at_ns: u64) -> Event {
        self.passages[slot as usize].stage = TunnelState::Through;
        Event::OpenFailed { slot, class: ErrorClass::Connect, at_ns }
    }

    /// What an event of the driver inside means; `None` when it is about the tunnel alone.
    #[inline]
    fn translate(&mut self, event: Event) -> Option<Event> {
        if self.passages[event.slot() as usize].stage == TunnelState::Through {
            return Some(event);
        }
        match event {
            Event::Opened { slot, .. } => self.connected(slot),
            Event::OpenFailed { .. } => Some(event),
            Event::Sent { slot, at_ns } => self.asked(slot, at_ns),
            Event::Received { slot, at_ns, buffer } => self.answered(slot, at_ns, buffer),
            Event::Ended { slot, at_ns, .. } => {
                self.tally.refused += 1;
                self.tally.refused_status = 0;
                Some(self.fail(slot, at_ns))
            }
        }
    }
}

impl<D: Driver> Driver for Tunnel<D> {
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
    fn send(&mut self, slot: SlotId, span: Range<usize>, ahead: Ahead) -> Sending {
        self.inner.send(slot, span, ahead)
    }

    #[inline]
    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        self.inner.outbox(slot)
    }

    #[inline]
    fn send_outbox(&mut self, slot: SlotId, ahead: Ahead) -> Sending {
        self.inner.send_outbox(slot, ahead)
    }

    fn untaken(&self, slot: SlotId) -> usize {
        self.inner.untaken(slot)
    }

    fn farewell(&mut self, slot: SlotId) {
        self.inner.farewell(slot);
    }

    fn close(&mut self, slot: SlotId) {
        self.passages[slot as usize].stage = TunnelState::Closed;
        self.inner.close(slot);
    }

    #[inline]
    fn wait(&mut self, now_ns: u64, until_ns: u64) -> u64 {
        self.inner.wait(now_ns, until_ns)
    }

    #[inline]
    fn left_from_before(&mut self, since_ns: u64) -> u64 {
        self.inner.left_from_before(since_ns)
    }

    #[inline]
    fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.inner.next()?;
            if let Some(event) = self.translate(event) {
                return Some(event);
            }
        }
    }

    #[inline]
    fn bytes(&self, buffer: Buffer) -> &[u8] {
        self.inner.bytes(buffer)
    }

    #[inline]
    fn release(&mut self, buffer: Buffer) {
        self.inner.release(buffer);
    }

    fn connected_ns(&self, slot: SlotId, opened_ns: u64) -> u64 {
        self.inner.connected_ns(slot, opened_ns)
    }

    fn tally(&mut self, tick: &mut Tick) {
        tick.tls += &std::mem::take(&mut self.tally);
        self.inner.tally(tick);
    }
}
