//! The queue of readings from the probe's threads to the caller, with a limit on its memory.
//!
//! When readings are not taken the queue fills. The newest are then refused, never the oldest, and
//! the number refused is reported with the readings themselves.

use crate::clock;
use model::facts::Unreadable;
use model::reading::{Data, Reading};
use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Readings held at any time, approximately. About ten minutes of a small host, two of a large one.
pub const QUEUE_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Default)]
struct Held {
    bytes: AtomicUsize,
    refused: AtomicU64,
}

/// Where readings go in.
#[derive(Debug, Clone)]
pub struct Entrance {
    sender: Sender<Reading>,
    held: Arc<Held>,
    bytes_max: usize,
    /// Labels the data of every reading.
    label: Option<fn(Box<Data>) -> Data>,
}

/// Where they come out.
#[derive(Debug)]
pub struct Exit {
    receiver: Receiver<Reading>,
    held: Arc<Held>,
}

/// A queue that holds about `bytes_max`.
pub fn queue(bytes_max: usize) -> (Entrance, Exit) {
    let (sender, receiver) = channel();
    let held = Arc::new(Held::default());
    let entrance = Entrance { sender, held: held.clone(), bytes_max, label: None };
    (entrance, Exit { receiver, held })
}

impl Entrance {
    /// This entrance for readings that get a label.
    pub fn labelled(&self, label: fn(Box<Data>) -> Data) -> Self {
        Self { label: Some(label), ..self.clone() }
    }

    /// Adds a reading, or counts it as refused when the queue is full.
    pub fn push(&self, mut reading: Reading) {
        if let Some(label) = self.label {
            reading.data = label(Box::new(reading.data));
        }
        let bytes = approximate_bytes(&reading.data);
        let before = self.held.bytes.fetch_add(bytes, Ordering::Relaxed);
        let is_full = before + bytes > self.bytes_max;
        if is_full {
            self.held.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.held.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // The other end is gone only while the sampler is being dropped; the reading is not needed
        // then.
        let _ = self.sender.send(reading);
    }
}

impl Entrance {
    /// Whether half of the room is taken: a caller that can wait should.
    pub fn is_filling(&self) -> bool {
        self.held.bytes.load(Ordering::Relaxed) > self.bytes_max / 2
    }
}

impl Exit {
    /// Everything that has arrived, and a last reading about what was refused, if anything was.
    pub fn take(&self) -> Vec<Reading> {
        let mut readings: Vec<Reading> = self.receiver.try_iter().collect();
        let bytes = readings.iter().map(|reading| approximate_bytes(&reading.data)).sum();
        self.held.bytes.fetch_sub(bytes, Ordering::Relaxed);
        let refused = self.held.refused.swap(0, Ordering::Relaxed);
        if refused > 0 {
            readings.push(notice(
                "probe queue",
                format!("{refused} readings were lost: the queue was full, its reader fell behind"),
            ));
        }
        readings
    }
}

/// A reading that only says that something could not be read.
pub fn notice(source: &str, why: String) -> Reading {
    let now_ns = clock::monotonic_ns();
    let data = Data::Unreadable(Unreadable { source: source.to_string(), why });
    Reading { begin_ns: now_ns, end_ns: now_ns, data }
}

/// About what a reading occupies: rows and named values at the size of the large ones, names and
/// nodes of maps included.
fn approximate_bytes(data: &Data) -> usize {
    const ENTRY: usize = 128;
    size_of::<Reading>() + data.entries() * ENTRY
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::CpuTimes;

    fn reading(begin_ns: u64) -> Reading {
        let data = Data::Cpus(vec![CpuTimes::default(); 128]);
        Reading { begin_ns, end_ns: begin_ns, data }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_told() {
        let (entrance, exit) = queue(50_000);
        for index in 0..10 {
            entrance.push(reading(index));
        }
        let readings = exit.take();
        let (last, kept) = readings.split_last().unwrap();
        assert!((1..10).contains(&kept.len()), "{}", kept.len());
        assert!(kept.iter().enumerate().all(|(index, kept)| kept.begin_ns == index as u64));
        let Data::Unreadable(told) = &last.data else { panic!("{last:?}") };
        assert!(told.why.starts_with(&format!("{} readings were lost", 10 - kept.len())));

        entrance.push(reading(10));
        assert_eq!(exit.take(), [reading(10)], "taking makes room, and tells only once");
    }
}
