//! Memory that a ring shares with the kernel: one ring of receive buffers for all connections.
//!
//! For: receives of [`super::Uring`], so that an idle connection holds no memory.
//! In: buffers that were read. Out: the bytes of a completion. See io_uring_register_buf_ring(3).
//!
//! Hot: runs for every receive.

use super::Buffer;
use io_uring::types::BufRingEntry as Entry;
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

/// Size of a shared receive buffer, bytes.
const BUFFER_BYTES: usize = 16 * 1024;
/// Shared receive buffers: as many as connections, within these bounds, and a power of two. Few
/// stay in the cache; with many, fewer receives end for lack of a buffer.
pub const BUFFERS_MIN: u16 = 128;
const BUFFERS_MAX: u16 = 512;
/// The only group.
pub const BUFFER_GROUP: u16 = 0;

/// How many buffers serve so many connections.
pub fn count_for(slots: u32) -> u16 {
    slots.next_power_of_two().clamp(BUFFERS_MIN.into(), BUFFERS_MAX.into()) as u16
}

/// Receive buffers the kernel picks from, and the ring that tells it which are free.
pub struct SharedBuffers {
    entries: Mapping,
    memory: Mapping,
    /// How many; a power of two.
    pub count: u16,
    tail: u16,
}

impl SharedBuffers {
    /// Maps the memory, and gives all of it to the kernel.
    pub fn new(submitter: &io_uring::Submitter<'_>, count: u16) -> io::Result<Self> {
        let entries = Mapping::new(usize::from(count) * size_of::<Entry>())?;
        let memory = Mapping::new(usize::from(count) * BUFFER_BYTES)?;
        // SAFETY: the mapping is page aligned, large enough, and outlives all operations of the
        // ring, which end before it is unmapped.
        unsafe {
            let start = entries.start as u64;
            submitter.register_buf_ring_with_flags(start, count, BUFFER_GROUP, 0)?;
        }
        let mut buffers = Self { entries, memory, count, tail: 0 };
        for id in 0..count {
            buffers.release(id);
        }
        Ok(buffers)
    }

    /// What a receive brought.
    #[inline]
    pub fn bytes(&self, buffer: Buffer) -> &[u8] {
        let length = buffer.length as usize;
        assert!(buffer.id < self.count && length <= BUFFER_BYTES);
        // SAFETY: in bounds as asserted, and the kernel does not write to a buffer between its
        // completion and its release.
        unsafe {
            let start = self.memory.start.add(usize::from(buffer.id) * BUFFER_BYTES);
            std::slice::from_raw_parts(start, length)
        }
    }

    /// Keeps the memory mapped when this is dropped.
    pub fn leak(&mut self) {
        (self.entries.length, self.memory.length) = (0, 0);
    }

    /// Gives a buffer back to the kernel.
    #[inline]
    pub fn release(&mut self, id: u16) {
        assert!(id < self.count);
        let entries = self.entries.start.cast::<Entry>();
        // SAFETY: the index is masked to the ring, the entry belongs to us until the tail moves,
        // and the tail is only written here.
        unsafe {
            let entry = &mut *entries.add(usize::from(self.tail & (self.count - 1)));
            entry.set_addr(self.memory.start.add(usize::from(id) * BUFFER_BYTES) as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(id);
            self.tail = self.tail.wrapping_add(1);
            let tail = Entry::tail(entries).cast_mut().cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

/// Anonymous memory, page aligned.
struct Mapping {
    start: *mut u8,
    length: usize,
}

impl Mapping {
    fn new(length: usize) -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: start.cast(), length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.length == 0 {
            return;
        }
        // SAFETY: the mapping was made by `new` and nothing refers to it any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}
