//! Where a run is made: on this host, or in a model of one in virtual time.
//!
//! The conductor asks here for the time, for workers, for facts and for readings, and nowhere else.
//! A model has its own clock, so that tests make whole runs on one thread, thousands of times
//! faster than real time, and the same seed repeats the same run. Only tests make a model.

use engine::job::Job;
use engine::{Crew, StartError, clock};
use jiff::Timestamp;
use model::facts::{HostFacts, ServerFacts};
use model::reading::Reading;
use std::thread;
use std::time::Duration;

/// Where a run is made.
#[derive(Clone, Copy)]
pub enum Setting<'a> {
    /// On this host, as time passes.
    Live,
    /// In a model.
    Model(&'a dyn Model),
}

/// Everything that the conductor would otherwise take from this host.
pub trait Model {
    /// Monotonic time now, nanoseconds.
    fn now_ns(&self) -> u64;

    /// Lets this much time pass.
    fn pass_ns(&self, duration_ns: u64);

    /// CPU time of the generator's process so far, nanoseconds.
    fn process_cpu_ns(&self) -> u64;

    /// Starts workers.
    fn start(&self, job: &Job) -> Crew;

    /// A level is visited from now on.
    fn begin_visit(&self, load: u32);

    /// The generator's host.
    fn host(&self) -> HostFacts;

    /// The server, when it is watched.
    fn server(&self) -> Option<ServerFacts>;

    /// Readings since the last call, in order of time.
    fn take_readings(&self) -> Vec<Reading>;
}

impl Setting<'_> {
    /// Monotonic time now, nanoseconds.
    pub fn now_ns(self) -> u64 {
        match self {
            Self::Live => clock::now_ns(),
            Self::Model(model) => model.now_ns(),
        }
    }

    /// Lets this much time pass.
    pub fn sleep(self, duration: Duration) {
        match self {
            Self::Live => thread::sleep(duration),
            Self::Model(model) => model.pass_ns(duration.as_nanos() as u64),
        }
    }

    /// CPU time of the generator's process so far, nanoseconds.
    pub fn process_cpu_ns(self) -> u64 {
        match self {
            Self::Live => clock::process_cpu_ns(),
            Self::Model(model) => model.process_cpu_ns(),
        }
    }

    /// Resident memory of the generator, bytes; nothing when it cannot be read.
    pub fn resident_bytes(self) -> Option<u64> {
        match self {
            Self::Live => crate::turnover::resident_bytes(),
            Self::Model(_) => None,
        }
    }

    /// The wall clock. That of a model begins with the epoch.
    pub fn timestamp(self) -> Timestamp {
        match self {
            Self::Live => Timestamp::now(),
            Self::Model(model) => {
                Timestamp::from_nanosecond(i128::from(model.now_ns())).unwrap_or_default()
            }
        }
    }

    /// Starts the workers of a job.
    pub fn start(self, job: &Job) -> Result<Crew, StartError> {
        match self {
            Self::Live => Crew::start(job),
            Self::Model(model) => Ok(model.start(job)),
        }
    }

    /// A level is visited from now on.
    pub fn begin_visit(self, load: u32) {
        if let Self::Model(model) = self {
            model.begin_visit(load);
        }
    }
}
