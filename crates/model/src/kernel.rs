//! What programs in the kernel saw of the server in one visit.
//!
//! Counters say how much, these say how long and for what: the split of a request at the server,
//! what its threads waited for, who ran while they wanted to. Whatever could not be read is a
//! sentence in `unreadable`, never a zero.

use crate::units::NS_PER_S;
use serde::{Deserialize, Serialize};

/// Evidence from the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelRecord {
    /// The point of the same load, from 0 in `points`: this was one more visit of its level.
    pub point: usize,
    /// Completed good responses per second of that visit.
    pub rate: f64,
    /// Responses per second of that visit, good or not.
    pub answered_rate: f64,
    /// Requests in flight, mean over that visit's window.
    pub in_flight: Option<f64>,
    /// What the programs saw.
    pub readings: KernelReadings,
    /// Visits with a quarter of those responses, in which requests do not wait for each other: what
    /// takes longer under load is a queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub light: Vec<LightVisit>,
}

/// A visit at a rate at which requests do not wait for each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LightVisit {
    /// Requests that were sent at one instant: 1 when all came evenly.
    pub at_once: u32,
    /// Requests per second that were planned.
    pub asked_rate: f64,
    /// Responses per second, good or not.
    pub answered_rate: f64,
    /// How late the generator sent nine of ten requests at most, nanoseconds; absent when unknown.
    pub late_ns: Option<u64>,
    /// How long the programs were attached, seconds.
    pub seconds: f64,
    /// A request at the server; absent when its hooks could not be used.
    pub split: Option<RequestSplit>,
}

/// What the programs saw in the time in which they were attached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelReadings {
    /// From the attachment of the last to the detachment, monotonic nanoseconds.
    pub window_ns: (u64, u64),
    /// The server's processes.
    pub pids: Vec<u32>,
    /// The port whose connections were watched.
    pub port: Option<u16>,
    /// A request at the server; absent when its hooks could not be used.
    pub split: Option<RequestSplit>,
    /// What its threads waited for; absent when its hooks could not be used.
    pub threads: Option<ThreadWaits>,
    /// Packets that the host dropped, by reason, the server's first; absent when unreadable.
    pub drops: Option<Vec<Dropped>>,
    /// Segments sent again; absent when unreadable.
    pub retransmits: Option<ByConnection>,
    /// Resets sent; absent when unreadable.
    pub resets_sent: Option<ByConnection>,
    /// Resets received; absent when unreadable.
    pub resets_received: Option<ByConnection>,
    /// Block requests of the host; absent when unreadable.
    pub disks: Option<DiskTimes>,
    /// What the programs themselves cost.
    pub programs: Vec<ProgramCost>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// Durations, each known within a quarter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    /// How many.
    pub count: u64,
    /// Their sum, nanoseconds.
    pub sum_ns: u64,
    /// At most this for half of them, nanoseconds; absent without any.
    pub p50_ns: Option<u64>,
    /// At most this for 90 %.
    pub p90_ns: Option<u64>,
    /// At most this for 99 %; absent below a hundred.
    pub p99_ns: Option<u64>,
    /// At most this for all.
    pub max_ns: Option<u64>,
    /// Their standard deviation, never too small: that of the upper bounds, and of values anywhere
    /// within the quarter in which each is known; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdev_ns: Option<u64>,
}

/// Standard deviation of a value that may be anywhere in a quarter of its size: 0.25 / sqrt(12).
const WITHIN_A_QUARTER: f64 = 0.0722;

impl Durations {
    /// From pairs of an upper bound and a count, the lowest first.
    pub fn of(sum_ns: u64, buckets: &[(u64, u64)]) -> Self {
        let count = buckets.iter().map(|(_, count)| count).sum::<u64>();
        // The first bound below which enough of them lie.
        let at = |share: f64| {
            let rank = ((count as f64 * share).ceil() as u64).max(1);
            let mut below = 0;
            buckets.iter().find_map(|(end_ns, count)| {
                below += count;
                (below >= rank).then_some(*end_ns)
            })
        };
        Self {
            count,
            sum_ns,
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99).filter(|_| count >= 100),
            max_ns: at(1.0),
            stdev_ns: stdev_ns(buckets, count),
        }
    }

    /// The mean, nanoseconds; none without any.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
}

/// The standard deviation of values in buckets, with what the width of a bucket hides.
fn stdev_ns(buckets: &[(u64, u64)], count: u64) -> Option<u64> {
    if count == 0 {
        return None;
    }
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        buckets.iter().map(|(end_ns, count)| of(*end_ns as f64) * *count as f64).sum()
    };
    let mean = sum(&|end_ns| end_ns) / count as f64;
    let between = sum(&|end_ns| (end_ns - mean).powi(2)) / count as f64;
    Some((between + (WITHIN_A_QUARTER * mean).powi(2)).sqrt() as u64)
}

/// The parts of a request at the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSplit {
    /// From bytes in the socket to their read by a thread of the server.
    pub unread: Durations,
    /// From the last read of a request to the first write of its response.
    pub inside: Durations,
    /// From that write to its acknowledgement, which may come with the next request; absent when
    /// its hook could not be used.
    pub acknowledged: Option<Durations>,
}

/// What threads waited for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadWaits {
    /// Waits of at least 50 microseconds by where in the kernel, the longest sum first. A wait that
    /// began before the programs were attached is in none.
    pub waits: Vec<KernelWait>,
    /// Shorter waits.
    pub short_count: u64,
    /// Their sum, seconds.
    pub short_s: f64,
    /// From runnable to running.
    pub run_queue: Durations,
    /// Tasks that ran on the CPU just before a thread that had wanted to run for 50 microseconds or
    /// more, the longest sum of delays first.
    pub ran_instead: Vec<RanInstead>,
}

crate::named! {
    /// What a thread waits for, by the functions of the kernel that it waits in.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum WaitFor {
        /// Another thread: a lock, a condition, a channel.
        Futex = "futex",
        /// Any of several descriptors, or a time: epoll, poll, select, io_uring.
        Events = "events",
        /// A time alone.
        Timer = "timer",
        /// Bytes of one socket, or room in it.
        Socket = "socket",
        /// A new connection.
        Accept = "accept",
        /// A pipe, or an event descriptor.
        Pipe = "pipe",
        /// A disk.
        Disk = "disk",
        /// A lock inside the kernel.
        KernelLock = "kernel_lock",
        /// A child process.
        Child = "child",
        /// Something else.
        Other = "other",
    }
    /// The word in the record.
    fn name;
}

/// Waits at one place in the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelWait {
    /// What for.
    pub what: WaitFor,
    /// Functions of the kernel, the innermost first; empty when its stack was lost.
    pub functions: Vec<String>,
    /// Whether a signal could not end it.
    pub is_uninterruptible: bool,
    /// How often.
    pub count: u64,
    /// For how long in total, seconds of threads.
    pub total_s: f64,
}

crate::named! {
    /// Whose task it was that ran.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Whose {
        /// The server's.
        Server = "server",
        /// The generator's.
        Generator = "generator",
        /// Of no task: the CPU was idle and had to wake, or its time was stolen.
        Idle = "idle",
        /// The kernel's.
        Kernel = "kernel",
        /// Another process.
        Other = "other",
    }
    /// The word in the record.
    fn name;
}

/// A task that ran just before a delayed thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RanInstead {
    /// The name of its process.
    pub name: String,
    /// Its process; 0 for an idle CPU.
    pub pid: u32,
    /// Whose.
    pub whose: Whose,
    /// How often.
    pub count: u64,
    /// The delays together, seconds of threads.
    pub delayed_s: f64,
}

/// Dropped packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The kernel's name of the reason, or its number.
    pub reason: String,
    /// Whether either port was the server's.
    pub is_of_server: bool,
    /// How many.
    pub count: u64,
}

/// A count by connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByConnection {
    /// At either end of the server's connections on this host.
    pub of_server: u64,
    /// Of others.
    pub of_others: u64,
}

/// Block requests of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskTimes {
    /// From issue to end, all devices together.
    pub all: Durations,
    /// Each device.
    pub devices: Vec<DiskTime>,
}

/// Block requests of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskTime {
    /// Its name, or its numbers.
    pub device: String,
    /// How many.
    pub count: u64,
    /// From issue to end in total, seconds.
    pub total_s: f64,
}

/// What a program cost, by the kernel's statistics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCost {
    /// The hook that it was attached to.
    pub hook: String,
    /// How often it ran.
    pub runs: u64,
    /// For how long in total, nanoseconds.
    pub ns: u64,
    /// How often it did not run because it was running already on that CPU: what it counts is
    /// too low by at most this.
    pub missed: u64,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// What, in words.
    pub what: String,
    /// Why.
    pub why: String,
}

impl KernelReadings {
    /// How long the programs were attached, seconds.
    pub fn seconds(&self) -> f64 {
        self.window_ns.1.saturating_sub(self.window_ns.0) as f64 / NS_PER_S as f64
    }

    /// CPUs that the programs kept busy; none when the kernel kept no statistics.
    pub fn cost_cpus(&self) -> Option<f64> {
        let ns = self.programs.iter().map(|program| program.ns).sum::<u64>();
        let is_known = !self.programs.is_empty() && self.seconds() > 0.0;
        is_known.then(|| ns as f64 / NS_PER_S as f64 / self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_bounds_and_none_without_values() {
        let none = Durations::of(0, &[]);
        assert_eq!((none.p50_ns, none.max_ns, none.mean_ns()), (None, None, None));
        let ten = Durations::of(100, &[(8, 5), (10, 4), (40, 1)]);
        assert_eq!((ten.p50_ns, ten.p90_ns, ten.p99_ns), (Some(8), Some(10), None));
        assert_eq!((ten.max_ns, ten.mean_ns()), (Some(40), Some(10.0)));
        let many = Durations::of(0, &[(8, 99), (40, 1)]);
        assert_eq!((many.p99_ns, many.max_ns), (Some(8), Some(40)));
    }

    #[test]
    fn the_spread_of_durations_is_never_too_small() {
        assert_eq!(Durations::of(0, &[]).stdev_ns, None);
        // All in one bucket: anywhere in a quarter of a thousand.
        assert_eq!(Durations::of(9_000, &[(1_000, 10)]).stdev_ns, Some(72));
        let two = Durations::of(20_000, &[(1_000, 10), (3_000, 10)]).stdev_ns;
        assert_eq!(two, Some(1_010), "a thousand between them, 144 within");
    }
}
