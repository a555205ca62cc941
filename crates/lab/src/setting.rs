//! Where a run is made: on this host, by a fleet of others, or in a model in virtual time.
//!
//! The conductor gets time, workers, facts and readings here, and nowhere else. A model has its own
//! clock, so that tests make whole runs on one thread, thousands of times faster than real time,
//! and the same seed repeats the same run. Only tests use a model.

use engine::job::Job;
use engine::{Crew, Role, StartError, clock};
use jiff::Timestamp;
use model::facts::{HostFacts, ServerFacts};
use model::fleet::FleetAccount;
use model::reading::Reading;
use std::thread;
use std::time::Duration;

/// Where a run is made.
#[derive(Clone, Copy)]
pub enum Setting<'a> {
    /// On this host, in real time.
    Live,
    /// By the agents of a fleet, led from this host in real time.
    Fleet(&'a dyn Fleet),
    /// In a model.
    Model(&'a dyn Model),
}

/// The agents of a fleet, for the controller. The conductor sees all their workers as one.
pub trait Fleet {
    /// Starts the workers of all agents, idle, and returns when each is ready. The driver, the CPUs
    /// and the share of the job are each agent's own.
    fn start(&self, job: &Job, role: Role) -> Result<Crew, StartError>;

    /// How long before its start a window must be ordered, nanoseconds, so that every agent gets
    /// the order in time.
    fn lead_ns(&self) -> u64;

    /// The result of every agent. Called once, when its workers have ended; it waits briefly for
    /// what the agents still have to report.
    fn finish(&self) -> FleetAccount;
}

/// Time the order to measure needs to reach the workers of this host, nanoseconds.
const LEAD_NS: u64 = 60_000_000;

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

    /// Starts a visit of a level.
    fn begin_visit(&self, load: u32);

    /// The generator's host.
    fn host(&self) -> HostFacts;

    /// The server, when it is watched.
    fn server(&self) -> Option<ServerFacts>;

    /// Readings since the last call, in order of time.
    fn take_readings(&self) -> Vec<Reading>;

    /// The results of the agents, in a model of a fleet.
    fn finish_fleet(&self) -> Option<FleetAccount> {
        None
    }
}

impl Setting<'_> {
    /// Monotonic time now, nanoseconds.
    pub fn now_ns(self) -> u64 {
        match self {
            Self::Live | Self::Fleet(_) => clock::now_ns(),
            Self::Model(model) => model.now_ns(),
        }
    }

    /// Lets this much time pass.
    pub fn sleep(self, duration: Duration) {
        match self {
            Self::Live | Self::Fleet(_) => thread::sleep(duration),
            Self::Model(model) => model.pass_ns(duration.as_nanos() as u64),
        }
    }

    /// CPU time of the generator's process so far, nanoseconds. Zero for a fleet: what agents use
    /// besides their workers is in their own records, and the controller generates no load.
    pub fn process_cpu_ns(self) -> u64 {
        match self {
            Self::Live => clock::process_cpu_ns(),
            Self::Fleet(_) => 0,
            Self::Model(model) => model.process_cpu_ns(),
        }
    }

    /// Resident memory of the generator, bytes; `None` when it cannot be read.
    pub fn resident_bytes(self) -> Option<u64> {
        match self {
            Self::Live => crate::turnover::resident_bytes(),
            Self::Fleet(_) | Self::Model(_) => None,
        }
    }

    /// The wall clock. That of a model starts at the epoch.
    pub fn timestamp(self) -> Timestamp {
        match self {
            Self::Live | Self::Fleet(_) => Timestamp::now(),
            Self::Model(model) => {
                Timestamp::from_nanosecond(i128::from(model.now_ns())).unwrap_or_default()
            }
        }
    }

    /// Starts the workers of a job.
    pub fn start(self, job: &Job) -> Result<Crew, StartError> {
        match self {
            Self::Live => Crew::start(job),
            Self::Fleet(fleet) => fleet.start(job, Role::Asking),
            Self::Model(model) => Ok(model.start(job)),
        }
    }

    /// Starts the workers of a job that listen.
    pub fn start_listening(self, job: &Job, stamps_ns: Option<i64>) -> Result<Crew, StartError> {
        let role = Role::Listening { stamps_ns };
        match self {
            Self::Fleet(fleet) => fleet.start(job, role),
            Self::Live | Self::Model(_) => Crew::start_as(job, role),
        }
    }

    /// How long before its start a window is ordered, nanoseconds.
    pub fn lead_ns(self) -> u64 {
        match self {
            Self::Fleet(fleet) => fleet.lead_ns(),
            Self::Live | Self::Model(_) => LEAD_NS,
        }
    }

    /// The results of the agents of a fleet; `None` without one.
    pub fn finish_fleet(self) -> Option<FleetAccount> {
        match self {
            Self::Live => None,
            Self::Fleet(fleet) => Some(fleet.finish()),
            Self::Model(model) => model.finish_fleet(),
        }
    }

    /// Starts a visit of a level.
    pub fn begin_visit(self, load: u32) {
        if let Self::Model(model) = self {
            model.begin_visit(load);
        }
    }
}
