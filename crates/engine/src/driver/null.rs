//! No sockets: every request is answered the moment it is sent, with a fixed response.
//!
//! What remains is our own user code: its speed is the ceiling of the generator itself. The idea is
//! fio's null engine: a tool that reports millions per second must know its own limit.
//!
//! Hot: runs for every request.

use super::{Ahead, Buffer, Driver, Event, Sending, SlotId};
use crate::clock;
use crate::job::Job;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use wire::http1::Http1;
use wire::session::{Ending, Reply};
use wire::tape::Tape;

/// The response: a head as small servers write it, and the 16 bytes of `/simple`.
pub(super) const RESPONSE: Reply<'_> = Reply {
    status: 200,
    reason: "OK",
    fields: &[
        ("Server", "null"),
        ("Date", "Sat, 01 Jan 2000 00:00:00 GMT"),
        ("Content-Type", "application/json"),
    ],
    ending: Ending::Length,
    body: b"{\"message\":\"hi\"}",
};

/// Responses per event, at most; more come with the next event.
const RESPONSES_MAX: usize = 128;

/// What is due on slots, in turns.
pub(super) struct Turns<T> {
    due: VecDeque<(SlotId, T)>,
    /// How many of them this turn may take; those added later are for the next.
    ready: usize,
    /// When this turn began.
    pub woken_ns: u64,
}

impl<T> Turns<T> {
    /// Takes all memory for `slots` connections.
    pub fn new(slots: u32) -> Self {
        let due = VecDeque::with_capacity(2 * slots as usize + 1);
        Self { due, ready: 0, woken_ns: clock::now_ns() }
    }

    /// Something is due in the next turn.
    #[inline]
    pub fn add(&mut self, slot: SlotId, what: T) {
        self.due.push_back((slot, what));
    }

    /// The rest of what was taken is due next, in this turn.
    #[inline]
    fn put_back(&mut self, slot: SlotId, what: T) {
        self.due.push_front((slot, what));
        self.ready += 1;
    }

    /// Forgets a slot.
    pub fn leave(&mut self, slot: SlotId) {
        self.due.retain(|(due, _)| *due != slot);
        self.ready = self.ready.min(self.due.len());
    }

    /// Begins a turn; waits if nothing is due.
    pub fn wait(&mut self, now_ns: u64, until_ns: u64) -> u64 {
        if self.due.is_empty() {
            clock::pause_ns(until_ns.saturating_sub(now_ns).min(1_000_000));
        }
        self.ready = self.due.len();
        self.woken_ns = clock::now_ns();
        self.woken_ns
    }

    /// What is due next in this turn.
    #[inline]
    pub fn next(&mut self) -> Option<(SlotId, T)> {
        self.ready = self.ready.checked_sub(1)?;
        self.due.pop_front()
    }
}

/// See the module.
pub struct Null {
    tape: Arc<Tape>,
    responses: Vec<u8>,
    response_bytes: usize,
    /// Numbers of responses; zero means that the slot was just opened.
    turns: Turns<u32>,
}

impl Null {
    /// Takes all memory for `slots` connections of a job whose responses come in order.
    pub fn new(job: &Job, slots: u32) -> Self {
        let mut response = Vec::new();
        Http1::respond(&RESPONSE, &mut response);
        Self {
            tape: Arc::clone(&job.tape),
            responses: response.repeat(RESPONSES_MAX),
            response_bytes: response.len(),
            turns: Turns::new(slots),
        }
    }
}

impl Driver for Null {
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        self.turns.add(slot, 0);
    }

    #[inline]
    fn send(&mut self, slot: SlotId, span: Range<usize>, _ahead: Ahead) -> Sending {
        self.turns.add(slot, self.tape.count(&span));
        Sending::Done
    }

    fn close(&mut self, slot: SlotId) {
        self.turns.leave(slot);
    }

    fn wait(&mut self, now_ns: u64, until_ns: u64) -> u64 {
        self.turns.wait(now_ns, until_ns)
    }

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let (slot, count) = self.turns.next()?;
        let at_ns = self.turns.woken_ns;
        if count == 0 {
            return Some(Event::Opened { slot, at_ns });
        }
        let now = count.min(RESPONSES_MAX as u32);
        if now < count {
            self.turns.put_back(slot, count - now);
        }
        let buffer = Buffer { id: 0, length: now * self.response_bytes as u32 };
        Some(Event::Received { slot, at_ns, buffer })
    }

    #[inline]
    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.responses[..buffer.length as usize]
    }

    #[inline]
    fn release(&mut self, _buffer: Buffer) {}
}
