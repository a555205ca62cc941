//! The maps that programs write and the watch reads, with the layout of their values.

use crate::bpf::{BpfError, Map, MapKind, Shape};

/// What has a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timed {
    /// From bytes in the socket to their read.
    Unread = 0,
    /// From the last read to the first write.
    Inside = 1,
    /// From the first write to its acknowledgement.
    Acknowledged = 2,
    /// From runnable to running.
    RunQueue = 3,
    /// From the issue of a block request to its end.
    Disk = 4,
}

/// What is counted, by its place in the one value of `counters`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Waits below the threshold.
    ShortWaits = 0,
    /// Their time, nanoseconds.
    ShortWaitsNs = 1,
    /// Segments sent again on the server's connections; those of others follow.
    Retransmits = 2,
    /// Resets sent on the server's connections; those of others follow.
    ResetsSent = 4,
    /// Resets received on the server's connections; those of others follow.
    ResetsReceived = 6,
}

/// Words in the value of `counters`.
const COUNTERS: u32 = 8;
/// Buckets of a histogram: four for each doubling of nanoseconds.
pub const BUCKETS: usize = 256;
/// The bucket that has the sum instead: the highest that a value can have is 251.
pub const SUM: usize = 255;
/// Addresses of a stack, from the innermost: what a thread waits for is near it, and each costs.
pub const STACK_DEPTH: u32 = 16;

/// Where fields of a thread's value are, bytes.
pub mod thread {
    /// When it left its CPU, nanoseconds; 0 while it runs.
    pub const OUT: i16 = 0;
    /// When it became runnable again; 0 before.
    pub const WOKEN: i16 = 8;
    /// Where it waits: the number of a stack, or an error below zero. With the state it is the key
    /// of `waits`.
    pub const STACK: i16 = 16;
    /// The kernel's state of a task; 0 is one that could go on.
    pub const STATE: i16 = 20;
    /// All of it.
    pub const BYTES: u32 = 24;
}

/// Where fields of a socket's value are, bytes.
pub mod socket {
    /// One of the states below.
    pub const STATE: i16 = 0;
    /// The sequence number after the response.
    pub const SEQUENCE: i16 = 4;
    /// When bytes arrived.
    pub const READY: i16 = 8;
    /// When bytes were read last.
    pub const READ: i16 = 16;
    /// When the first bytes were written.
    pub const WROTE: i16 = 24;
    /// When bytes arrived that were not read yet, while a request was in the server; 0 without.
    pub const NEXT: i16 = 32;
    /// All of it.
    pub const BYTES: u32 = 40;
    /// Bytes are in the socket.
    pub const IS_READY: i32 = 1;
    /// They were read, and nothing was written.
    pub const IS_READ: i32 = 2;
    /// Something was written, and not acknowledged.
    pub const IS_WRITTEN: i32 = 3;
    /// All was acknowledged.
    pub const IS_DONE: i32 = 4;
}

/// The maps.
#[derive(Debug)]
pub struct Maps {
    /// The server's processes.
    pub servers: Map,
    /// Its threads that are off their CPU.
    pub threads: Map,
    /// Time off the CPU by stack and state: count, nanoseconds.
    pub waits: Map,
    /// Stacks by number.
    pub stacks: Map,
    /// Delays on run queues by the task that ran before: process and name; count, nanoseconds.
    pub ran_instead: Map,
    /// The server's connections by the address of their socket.
    pub sockets: Map,
    /// [`Timed`].
    pub histograms: Map,
    /// [`Counted`].
    pub counters: Map,
    /// Dropped packets by reason and class.
    pub drops: Map,
    /// Block requests by address: when they were issued.
    pub requests: Map,
    /// Block requests by device: count, nanoseconds.
    pub devices: Map,
}

impl Maps {
    /// New maps. Together about 10 MB of kernel memory.
    pub fn new() -> Result<Self, BpfError> {
        let map =
            |name, kind, (key, value), entries| Map::new(name, Shape { kind, key, value, entries });
        let histogram = (4, 8 * BUCKETS as u32);
        Ok(Self {
            servers: map("servers", MapKind::Hash, (4, 4), 4096)?,
            threads: map("threads", MapKind::Recent, (4, thread::BYTES), 16_384)?,
            waits: map("waits", MapKind::Hash, (8, 16), 4096)?,
            stacks: map("stacks", MapKind::Stacks, (4, 8 * STACK_DEPTH), 4096)?,
            ran_instead: map("ran_instead", MapKind::Hash, (20, 16), 4096)?,
            sockets: map("sockets", MapKind::Recent, (8, socket::BYTES), 32_768)?,
            histograms: map("histograms", MapKind::PerCpuArray, histogram, 5)?,
            counters: map("counters", MapKind::PerCpuArray, (4, 8 * COUNTERS), 1)?,
            drops: map("drops", MapKind::Hash, (8, 8), 1024)?,
            requests: map("requests", MapKind::Recent, (8, 8), 8192)?,
            devices: map("devices", MapKind::Hash, (4, 16), 256)?,
        })
    }
}
