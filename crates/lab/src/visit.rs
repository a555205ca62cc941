//! The results of one visit of a level.

use crate::gather::Gathered;
use model::lost::Stopped;
use model::run::Outcome;

/// The results of one visit of a level.
#[derive(Debug, Clone)]
pub struct Visit {
    /// Its number in the run, from 1.
    pub load: u32,
    /// All ticks added up, for the crew that sends requests.
    pub gathered: Gathered,
    /// All ticks added up, for the crew that listens, in a fan-out.
    pub audience: Option<Gathered>,
    /// How it ended.
    pub ending: Outcome,
    /// When the target stopped responding, if it did.
    pub stopped: Option<Stopped>,
    /// Requests due in the window, counted from the schedule; absent for a window that was cut
    /// short, and where [`planned`](crate::planned) has none.
    pub planned: Option<u64>,
    /// Start of the measured window, monotonic nanoseconds.
    pub window_begin_ns: u64,
    /// Length of the warm-up, nanoseconds.
    pub warmup_ns: u64,
    /// Start of the whole visit, monotonic nanoseconds.
    pub begin_ns: u64,
    /// Its length, nanoseconds.
    pub visit_ns: u64,
    /// CPU time of the generator's process over the whole visit, nanoseconds.
    pub process_cpu_ns: u64,
    /// Whether the server was profiled in the window.
    pub profiled: bool,
}

impl Visit {
    /// The measured window, monotonic nanoseconds.
    pub fn window_ns(&self) -> (u64, u64) {
        (self.window_begin_ns, self.gathered.window_end_ns())
    }
}
