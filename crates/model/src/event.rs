//! Progress events of a run. Events go to the caller; nothing calls back.

use crate::host_now::HostNow;
use crate::load::Level;
use crate::run::{Point, Run};

/// One moment of a run.
#[derive(Debug, Clone)]
pub enum Event {
    /// A level starts.
    Level {
        /// Index of the level, from 0.
        index: usize,
        /// Number of levels; 0 when not known beforehand.
        of: usize,
        /// 1 for the first visit.
        attempt: u32,
        /// What is applied.
        level: Level,
    },
    /// A block of an experiment starts.
    Block {
        /// What the experiment changes, in words.
        what: String,
        /// Which of its blocks, from 1.
        block: usize,
        /// How many it has.
        of: usize,
    },
    /// Progress of the level.
    Progress(Progress),
    /// What the hosts did in the last second: the generator's, then the server's, or one where they
    /// share it. Sent only on request.
    Hosts(Vec<HostNow>),
    /// A level was measured and judged.
    Point(Box<Point>),
    /// The run as it would be if it ended now, with the current level as far as it is measured;
    /// without readings. Sent only on request.
    Present(Box<Run>),
    /// A profile was taken; a file for the run's directory.
    Profile {
        /// Path in that directory, of characters that any file system accepts.
        path: String,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// A notice for the user.
    Notice(String),
}

/// The latest state of the current level.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// What happens now: `connecting`, `warm-up`, `measuring`, `draining`.
    pub stage: &'static str,
    /// Requests in flight; in the drain those of the window.
    pub in_flight: Option<u64>,
    /// Share of the stage that is over, 0 to 1, when known.
    pub done: Option<f64>,
    /// Connections open now.
    pub open: u64,
    /// Completed good responses per second, of the last interval.
    pub rate: f64,
    /// Connections established per second, of the last interval; only when they come and go.
    pub connection_rate: Option<f64>,
    /// Events received per second, of the last interval; with subscribers. The percentiles are then
    /// those of staleness.
    pub event_rate: Option<f64>,
    /// Median latency of the last interval, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the last interval, nanoseconds.
    pub p99_ns: Option<u64>,
    /// CPUs' worth of time the generator used in the last interval.
    pub client_cpus: Option<f64>,
    /// CPUs' worth of time the server used in the last interval.
    pub server_cpus: Option<f64>,
    /// Failed requests and connection attempts since the level began.
    pub failures: u64,
    /// Failures by status code and class, most first; codes of the window only.
    pub failed: Vec<(String, u64)>,
}
