//! Receive buffers that the kernel picks, and the ring that lists the free ones.

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

/// A receive uses one; what does not fit goes into the next.
const BYTES: usize = 16 * 1024;
/// More than the connections that get responses in one turn; a power of two.
const COUNT: u16 = 256;
pub const GROUP: u16 = 0;

/// See the module.
pub struct Buffers {
    ring: Mapping,
    memory: Mapping,
    tail: u16,
}

impl Buffers {
    /// Gives all buffers to the kernel. They must outlive the ring behind `submitter`.
    pub fn register(submitter: &Submitter<'_>) -> io::Result<Self> {
        let ring = Mapping::new(usize::from(COUNT) * size_of::<BufRingEntry>())?;
        let memory = Mapping::new(usize::from(COUNT) * BYTES)?;
        // SAFETY: the mapping is page aligned and as large as said; the caller keeps it.
        unsafe { submitter.register_buf_ring_with_flags(ring.start as u64, COUNT, GROUP, 0)? };
        let mut buffers = Self { ring, memory, tail: 0 };
        for id in 0..COUNT {
            buffers.put_back(id);
        }
        buffers.publish();
        Ok(buffers)
    }

    /// The received bytes in a buffer.
    #[inline]
    pub fn bytes(&self, id: u16, count: usize) -> &[u8] {
        assert!(id < COUNT && count <= BYTES);
        // SAFETY: in bounds as asserted, and the kernel has returned the buffer.
        unsafe {
            let start = self.memory.start.cast::<u8>().add(usize::from(id) * BYTES);
            std::slice::from_raw_parts(start, count)
        }
    }

    /// Returns a buffer; the kernel sees it after [`Buffers::publish`].
    #[inline]
    pub fn put_back(&mut self, id: u16) {
        let entries = self.ring.start.cast::<BufRingEntry>();
        // SAFETY: the index is masked to the ring, and entries behind the tail are ours.
        unsafe {
            let entry = &mut *entries.add(usize::from(self.tail & (COUNT - 1)));
            entry.set_addr(self.memory.start.add(usize::from(id % COUNT) * BYTES) as u64);
            entry.set_len(BYTES as u32);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Makes returned buffers visible to the kernel, once per turn.
    #[inline]
    pub fn publish(&mut self) {
        let entries = self.ring.start.cast::<BufRingEntry>();
        // SAFETY: the tail is in the mapping, and only this thread writes it.
        unsafe {
            let tail = BufRingEntry::tail(entries).cast_mut().cast::<AtomicU16>();
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
        // SAFETY: the mapping was made by `new` and nothing refers to it any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}
