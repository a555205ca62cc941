//! How bytes move. A driver handles sockets and time, and has no notion of protocols or requests.
//!
//! The worker asks for connections, sends and closes; the driver collects these and submits them
//! together in [`Driver::wait`], then returns what happened, one [`Event`] at a time. `uring` and
//! `epoll` do this with sockets, `null` responds at once to measure our own code, and `sim` does it
//! in virtual time with seeded faults. The same worker runs on all of them.
//!
//! A slot can also send bytes that are not on the tape, from its outbox. [`tunnel::Tunnel`] and
//! [`tls::Tls`] are drivers around another one: they do what comes between the connection and the
//! requests, and report a slot as open when that is done. A run that needs neither uses neither.

#![allow(unsafe_code, reason = "rings and buffers are shared with the kernel")]

pub mod epoll;
pub mod null;
pub mod null_streams;
pub mod sim;
pub mod uring;

mod backlog;
pub mod ktls;
pub mod tls;
pub mod tunnel;

use model::tick::{ErrorClass, Tick};
use std::ops::Range;

/// Number of a connection slot of one worker, from 0.
pub type SlotId = u32;

/// Whether the kernel has taken the bytes of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// All of them.
    Done,
    /// Not all; [`Event::Sent`] follows when it has.
    Underway,
}

/// What was sent on a slot before the next send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// Nothing, or all of it was answered.
    Nothing,
    /// Requests that have no response yet.
    Unanswered,
}

/// Bytes that a driver holds until they are released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// Number of the driver's buffer.
    pub id: u16,
    /// How many bytes are in it.
    pub length: u32,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The peer closed it in an orderly way.
    Closed,
    /// The peer closed it without close_notify inside TLS: what arrived may not be all.
    Truncated,
    /// It was reset, or another error made it useless.
    Reset,
}

/// Something that happened on a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The connection is established.
    Opened {
        /// Which slot.
        slot: SlotId,
        /// When this was known.
        at_ns: u64,
    },
    /// The attempt failed. The worker must close the slot.
    OpenFailed {
        /// Which slot.
        slot: SlotId,
        /// Why.
        class: ErrorClass,
        /// When this was known.
        at_ns: u64,
    },
    /// The kernel has taken all of a send that was under way.
    Sent {
        /// Which slot.
        slot: SlotId,
        /// When this was known.
        at_ns: u64,
    },
    /// Bytes arrived. The worker must release the buffer.
    Received {
        /// Which slot.
        slot: SlotId,
        /// When they were in user space.
        at_ns: u64,
        /// Where they are.
        buffer: Buffer,
    },
    /// The connection ended. The worker must close the slot.
    Ended {
        /// Which slot.
        slot: SlotId,
        /// How.
        end: End,
        /// When this was known.
        at_ns: u64,
    },
}

impl Event {
    /// The slot it happened on.
    #[inline]
    pub fn slot(&self) -> SlotId {
        match *self {
            Self::Opened { slot, .. }
            | Self::OpenFailed { slot, .. }
            | Self::Sent { slot, .. }
            | Self::Received { slot, .. }
            | Self::Ended { slot, .. } => slot,
        }
    }

    /// When it happened, or was known.
    #[inline]
    pub fn at_ns(&self) -> u64 {
        match *self {
            Self::Opened { at_ns, .. }
            | Self::OpenFailed { at_ns, .. }
            | Self::Sent { at_ns, .. }
            | Self::Received { at_ns, .. }
            | Self::Ended { at_ns, .. } => at_ns,
        }
    }
}

/// Moves bytes for one worker.
pub trait Driver {
    /// Monotonic time now, nanoseconds.
    fn now_ns(&self) -> u64;

    /// CPU time of the worker so far, user and kernel, nanoseconds.
    fn cpu_ns(&self) -> (u64, u64) {
        crate::clock::thread_cpu_ns()
    }

    /// Starts connecting a closed slot by route number `route` of the job.
    fn open(&mut self, slot: SlotId, route: u32);

    /// Sends a piece of the tape on an open slot. At most one send may be under way per slot.
    fn send(&mut self, slot: SlotId, span: Range<usize>, ahead: Ahead) -> Sending;

    /// The buffer for bytes of a slot that are not on the tape. Change it only while no send is
    /// under way.
    fn outbox(&mut self, _slot: SlotId) -> &mut Vec<u8> {
        unreachable!("nothing is sent that is not on the tape")
    }

    /// Sends all bytes of the outbox, which is empty again once the kernel has taken them.
    fn send_outbox(&mut self, _slot: SlotId, _ahead: Ahead) -> Sending {
        unreachable!("nothing is sent that is not on the tape")
    }

    /// Bytes of the send under way on a slot that the kernel has not taken, as far as is known: at
    /// most so many. Inside TLS it is counted by the encrypted bytes.
    // Cold: while a send is under way, when a response comes before or the slot is closed.
    fn untaken(&self, _slot: SlotId) -> usize {
        0
    }

    /// Before a close, sends as much of the outbox as the kernel takes at once. Does nothing while
    /// a send is under way.
    fn farewell(&mut self, _slot: SlotId) {}

    /// Closes a slot in any state. No event of it follows.
    fn close(&mut self, slot: SlotId);

    /// Submits everything asked for, then waits until something happened or `until_ns` passed.
    /// `now_ns` is the time before, which the caller has just read; returns the time after.
    fn wait(&mut self, now_ns: u64, until_ns: u64) -> u64;

    /// The earliest instant at which what the last wait returned may have arrived, if `since_ns` is
    /// that of what arrived after the wait before. Waits that were full leave the rest to the next
    /// ones, and so do receives that had no more room; one that has none twice in a row counts from
    /// the second time. Must be called once after each wait.
    #[inline]
    fn left_from_before(&mut self, since_ns: u64) -> u64 {
        since_ns
    }

    /// The next thing that happened.
    fn next(&mut self) -> Option<Event>;

    /// The bytes of a buffer that is not released yet.
    fn bytes(&self, buffer: Buffer) -> &[u8];

    /// Returns a buffer to the driver.
    fn release(&mut self, buffer: Buffer);

    /// When the connection itself was established, for a slot that was reported open at
    /// `opened_ns`. Earlier when more had to be done before that report.
    fn connected_ns(&self, _slot: SlotId, opened_ns: u64) -> u64 {
        opened_ns
    }

    /// Adds what was counted, apart from events, since the last call.
    fn tally(&mut self, _tick: &mut Tick) {}
}

/// Where the bytes of a send are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendBytes {
    /// On the tape.
    Tape,
    /// In the slot's outbox.
    Outbox,
}
