//! Profiles of the server: where its CPU time went and what its requests waited for.
//!
//! Profiles are taken in the measured window of one visit, of every process of the server, and
//! merged by kind. Whatever could not be taken is a sentence in `failures`, never a zero.

use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Where profiles come from, as requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileChoice {
    /// The endpoints that the server's processes listen on, and `perf` for the others.
    Auto,
    /// These endpoints.
    Addresses(Vec<SocketAddr>),
    /// Those that there are on these ports, from the first to the last: one for each worker.
    Ports(IpAddr, u16, u16),
    /// `perf`, whatever the processes are.
    Perf,
}

crate::named! {
    /// What is profiled.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ProfileKind {
        /// CPU time, by the server's own runtime.
        Cpu = "cpu",
        /// CPU time in user and kernel mode, by `perf`.
        Perf = "perf",
        /// Time that goroutines were blocked, by where they waited.
        Block = "block",
        /// Time that goroutines were blocked by locks, by the holders of the locks.
        Mutex = "mutex",
        /// Bytes that were allocated.
        Heap = "heap",
    }
    /// The word in file names and in the record.
    fn name;
}

impl ProfileKind {
    /// Whether its values are nanoseconds that something waited.
    pub fn is_of_waits(self) -> bool {
        matches!(self, Self::Block | Self::Mutex)
    }

    /// Whether its values are nanoseconds of CPU time.
    pub fn is_of_cpu(self) -> bool {
        matches!(self, Self::Cpu | Self::Perf)
    }
}

/// Which visit was profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profiled {
    /// The visit of the point: its figures include the cost of profiling.
    Point,
    /// One more visit of the point's level: the point itself was measured without profiling.
    Repeat,
}

/// Profiles of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// Which visit.
    pub visit: Profiled,
    /// The point of the same load, from 0 in `points`.
    pub point: usize,
    /// Start and end of the window of that visit, monotonic nanoseconds.
    pub window_ns: (u64, u64),
    /// Completed good responses per second of that visit.
    pub rate: f64,
    /// Requests in flight, mean over that window.
    pub in_flight: Option<f64>,
    /// Its median latency, nanoseconds.
    pub p50_ns: Option<u64>,
    /// CPU time of the server per response of that visit, good or not, microseconds; absent where
    /// the server was not observed, and for streams of events.
    pub server_us_per_request: Option<f64>,
    /// What was taken, process by process.
    pub captures: Vec<Capture>,
    /// Profiles, or parts of them, that could not be taken, and why.
    pub failures: Vec<String>,
    /// What was taken, merged over the processes.
    pub kinds: Vec<MergedProfile>,
}

/// One profile of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// What.
    pub kind: ProfileKind,
    /// The process, when known.
    pub pid: Option<u32>,
    /// Its source: an address, or `perf` with its event.
    pub source: String,
    /// The file in the run's directory.
    pub file: String,
    /// When it was requested, monotonic nanoseconds.
    pub begin_ns: u64,
    /// When it ended, monotonic nanoseconds.
    pub end_ns: u64,
    /// How much time it covers by its own account, nanoseconds; absent when it has none.
    pub duration_ns: Option<u64>,
    /// Entries.
    pub samples: u64,
    /// Sum of its values: nanoseconds, or bytes for the heap.
    pub total: i64,
    /// Whether time in the kernel is not in it, because the user may not sample it; of perf only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_kernel: bool,
}

impl ProfileRecord {
    /// Whether time in the kernel is missing in a profile by perf.
    pub fn lacks_kernel(&self) -> bool {
        self.captures.iter().any(|capture| capture.lacks_kernel)
    }
}

/// Profiles of one kind, of all processes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MergedProfile {
    /// What.
    pub kind: ProfileKind,
    /// Processes in it.
    pub processes: u32,
    /// How much time each of them covers, mean, seconds.
    pub duration_s: f64,
    /// Responses in that time, good or not, from their rate in the visit.
    pub requests: Option<f64>,
    /// Why there are no figures per request: then `requests`, shares and bounds are absent.
    pub requests_absent: Option<String>,
    /// Sum of all values: nanoseconds, or bytes for the heap.
    pub total: i64,
    /// Functions with the largest values of their own, then callers by value including what they
    /// called.
    pub top: Vec<FunctionCost>,
    /// Functions with a value of their own; `top` may hold fewer of them.
    pub functions: usize,
    /// The tree of calls, the root first, each frame before those it calls. Frames too small to be
    /// drawn are left out.
    pub flame: Vec<Frame>,
    /// Waits by site; of block and mutex profiles only.
    pub waits: Vec<Wait>,
}

/// What a function cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCost {
    /// Its name.
    pub function: String,
    /// Its own value.
    pub flat: i64,
    /// Its value including all that it called.
    pub cum: i64,
}

/// One frame of a tree of calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Function.
    pub function: String,
    /// Frames above it; the root has none.
    pub depth: u32,
    /// Its value including all that it called.
    pub value: i64,
}

/// What waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiter {
    /// Code that serves a request: a frame of the server's handling of connections is above it.
    Request,
    /// Something else, such as a loop in the background.
    Other,
    /// The handler of the profile itself.
    Profiler,
}

/// What was waited for, at one site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The function and line outside the runtime that waited, or that held the lock.
    pub site: String,
    /// The call that waited, for example `sync.(*Mutex).Lock`.
    pub call: String,
    /// What waited.
    pub waiter: Waiter,
    /// The frame that shows it; absent for others.
    pub known_by: Option<String>,
    /// How often.
    pub count: i64,
    /// For how long in total, seconds.
    pub blocked_s: f64,
    /// Of requests: `blocked_s` over the time of the profile times the requests in flight; absent
    /// when that is not known.
    pub share: Option<f64>,
    /// The most by which the rate could rise in closed loop if the wait alone went away:
    /// `share / (1 - share)`; absent without a share below 1.
    pub gain_max: Option<f64>,
}
