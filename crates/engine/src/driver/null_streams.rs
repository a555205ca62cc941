//! The same as [`super::null`] for sessions that write: every request is answered the moment it is
//! sent, with the same response. The reply to a call is an empty message, in a conversation one to
//! each.
//!
//! What remains is our own user code and the copy of a response; its speed is the ceiling of the
//! generator with HTTP/2.
//!
//! Hot: runs for every request.

use super::null::{RESPONSE, Turns};
use super::{Ahead, Buffer, Driver, Event, Sending, SlotId};
use crate::clock;
use crate::job::Job;
use std::ops::Range;
use wire::http2::{Echo, Heard};

/// Memory of each direction of a connection at the start, bytes: enough for a hundred streams.
const LINE_BYTES: usize = 16 * 1024;

/// One connection: what its session sends, and what that is answered with.
#[derive(Debug)]
struct Line {
    outbox: Vec<u8>,
    heard: Heard,
    inbox: Vec<u8>,
}

/// What is due on a slot.
#[derive(Debug, Clone, Copy)]
enum Due {
    Opened,
    Inbox,
}

/// See the module.
pub struct NullStreams {
    echo: Echo,
    lines: Vec<Line>,
    turns: Turns<Due>,
    /// The slot whose inbox is read.
    reading: SlotId,
}

impl NullStreams {
    /// Takes all memory for `slots` connections of a job.
    pub fn new(job: &Job, slots: u32) -> Self {
        let line = |_| Line {
            outbox: Vec::with_capacity(LINE_BYTES),
            heard: Heard::default(),
            inbox: Vec::with_capacity(LINE_BYTES),
        };
        Self {
            // The others are answered in the same way.
            echo: Echo::new(&RESPONSE, job.tape.expect(0)),
            lines: (0..slots).map(line).collect(),
            turns: Turns::new(slots),
            reading: 0,
        }
    }
}

impl Driver for NullStreams {
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        self.turns.add(slot, Due::Opened);
    }

    fn send(&mut self, _slot: SlotId, _span: Range<usize>, _ahead: Ahead) -> Sending {
        unreachable!("such a session writes what is sent")
    }

    #[inline]
    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        &mut self.lines[slot as usize].outbox
    }

    #[inline]
    fn send_outbox(&mut self, slot: SlotId, _ahead: Ahead) -> Sending {
        let line = &mut self.lines[slot as usize];
        let was_empty = line.inbox.is_empty();
        self.echo.answer(&mut line.heard, &line.outbox, &mut line.inbox);
        line.outbox.clear();
        if was_empty && !line.inbox.is_empty() {
            self.turns.add(slot, Due::Inbox);
        }
        Sending::Done
    }

    fn close(&mut self, slot: SlotId) {
        let line = &mut self.lines[slot as usize];
        line.outbox.clear();
        line.inbox.clear();
        self.turns.leave(slot);
    }

    fn wait(&mut self, now_ns: u64, until_ns: u64) -> u64 {
        self.turns.wait(now_ns, until_ns)
    }

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let (slot, due) = self.turns.next()?;
        let at_ns = self.turns.woken_ns;
        Some(match due {
            Due::Opened => Event::Opened { slot, at_ns },
            Due::Inbox => {
                let length = self.lines[slot as usize].inbox.len() as u32;
                self.reading = slot;
                Event::Received { slot, at_ns, buffer: Buffer { id: 0, length } }
            }
        })
    }

    #[inline]
    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.lines[self.reading as usize].inbox[..buffer.length as usize]
    }

    #[inline]
    fn release(&mut self, _buffer: Buffer) {
        self.lines[self.reading as usize].inbox.clear();
    }
}
