//! When each request arrived: one number per request, kept in memory, written at the end.
//!
//! File format: little-endian unsigned 64-bit integers only, each the nanoseconds of
//! `CLOCK_MONOTONIC` right after the recv that delivered the last byte of a request, ascending over
//! all threads. Its length is eight times the number of requests. It leaves out `/stats`,
//! `/stats/reset` and refused requests, and a reset of the record does not change it.
//!
//! Memory is reserved at the start and first touched when it is used. Threads take it in blocks of
//! 65536 arrivals, so that one busy thread can use nearly all of it; when it is full, further
//! arrivals are only counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

const BLOCK_ARRIVALS: usize = 65_536;

/// Reserved memory that no thread has taken yet.
#[derive(Debug)]
pub struct Reserve {
    blocks: Mutex<Vec<Block>>,
}

#[derive(Debug, Default)]
struct Block {
    stamps: Vec<u64>,
    room: usize,
}

impl Reserve {
    /// Memory for `capacity` arrivals.
    pub fn new(capacity: usize) -> Arc<Self> {
        let blocks = (0..capacity.div_ceil(BLOCK_ARRIVALS))
            .map(|index| {
                let room = BLOCK_ARRIVALS.min(capacity - index * BLOCK_ARRIVALS);
                Block { stamps: Vec::with_capacity(room), room }
            })
            .collect();
        Arc::new(Self { blocks: Mutex::new(blocks) })
    }

    fn take(&self) -> Option<Block> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

/// The arrivals of one thread.
#[derive(Debug)]
pub struct Arrivals {
    reserve: Arc<Reserve>,
    full: Vec<Block>,
    current: Block,
    lost: u64,
}

impl Arrivals {
    /// A thread that takes its memory from `reserve`.
    pub fn new(reserve: Arc<Reserve>) -> Self {
        let blocks = reserve.blocks.lock().unwrap_or_else(PoisonError::into_inner).len();
        Self { reserve, full: Vec::with_capacity(blocks), current: Block::default(), lost: 0 }
    }

    /// Adds one arrival, which must not be earlier than the last one.
    #[inline]
    pub fn add(&mut self, arrival_ns: u64) {
        if self.current.room == 0 && !self.next_block() {
            self.lost += 1;
            return;
        }
        self.current.stamps.push(arrival_ns);
        self.current.room -= 1;
    }

    #[cold]
    fn next_block(&mut self) -> bool {
        let Some(block) = self.reserve.take() else { return false };
        self.full.push(std::mem::replace(&mut self.current, block));
        true
    }

    fn stamps(&self) -> impl Iterator<Item = u64> {
        let blocks = self.full.iter().chain([&self.current]);
        blocks.flat_map(|block| block.stamps.iter().copied())
    }
}

/// How many arrivals there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Written to the file.
    pub logged: u64,
    /// Lost because the memory was full.
    pub lost: u64,
}

impl Tally {
    /// The tally as a part of the last line.
    pub fn json(self) -> String {
        format!(",\"arrivals\":{{\"logged\":{},\"lost\":{}}}", self.logged, self.lost)
    }
}

/// Writes the arrivals of all threads in order of time.
pub fn write(threads: &[Arrivals], out: &mut impl Write) -> io::Result<Tally> {
    let mut tally = Tally { logged: 0, lost: threads.iter().map(|thread| thread.lost).sum() };
    let mut queues: Vec<_> = threads.iter().map(Arrivals::stamps).collect();
    let mut first: BinaryHeap<_> = queues
        .iter_mut()
        .enumerate()
        .filter_map(|(index, queue)| Some(Reverse((queue.next()?, index))))
        .collect();
    while let Some(Reverse((arrival_ns, index))) = first.pop() {
        out.write_all(&arrival_ns.to_le_bytes())?;
        tally.logged += 1;
        if let Some(next_ns) = queues[index].next() {
            first.push(Reverse((next_ns, index)));
        }
    }
    out.flush()?;
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(threads: &[Arrivals]) -> (Vec<u64>, Tally) {
        let mut bytes = Vec::new();
        let tally = write(threads, &mut bytes).unwrap();
        let (numbers, rest) = bytes.as_chunks::<8>();
        assert!(rest.is_empty());
        (numbers.iter().map(|&number| u64::from_le_bytes(number)).collect(), tally)
    }

    #[test]
    fn threads_are_merged_in_order_of_time() {
        let reserve = Reserve::new(10 * BLOCK_ARRIVALS);
        let mut threads = [(); 3].map(|()| Arrivals::new(reserve.clone()));
        for stamp in 0..200_000 {
            threads[(stamp * 7 % 5 % 3) as usize].add(stamp);
        }
        let (numbers, tally) = written(&threads);
        assert!(numbers.into_iter().eq(0..200_000));
        assert_eq!(tally, Tally { logged: 200_000, lost: 0 });
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        for capacity in [0, 5, BLOCK_ARRIVALS, BLOCK_ARRIVALS + 5] {
            let mut arrivals = Arrivals::new(Reserve::new(capacity));
            for stamp in 0..capacity as u64 + 3 {
                arrivals.add(stamp);
            }
            let (numbers, tally) = written(&[arrivals]);
            assert_eq!(numbers.len(), capacity);
            assert_eq!(tally, Tally { logged: capacity as u64, lost: 3 });
        }
    }
}
