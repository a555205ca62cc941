//! Whether a host is fit to measure on: what was observed, and what follows from it.
//!
//! Names of [`Checkup`] are the schema `ceiling.checkup/1`. Adding a field is free.

use crate::facts::HostFacts;
use crate::histogram::Summary;
use crate::reading::{CpuTimes, QuotaUse};
use serde::{Deserialize, Serialize};

/// Schema of [`Checkup`].
pub const SCHEMA: &str = "ceiling.checkup/1";

/// What was observed of a host while no load ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// What the host is.
    pub facts: HostFacts,
    /// CPU times at the start and at the end; empty when they could not be read.
    pub cpus: (Vec<CpuTimes>, Vec<CpuTimes>),
    /// CPU time that the observation itself took, nanoseconds.
    pub own_cpu_ns: u64,
    /// Length of the observation, nanoseconds.
    pub length_ns: u64,
    /// Our control groups at the start and at the end; empty when they could not be read.
    pub quotas: (Vec<QuotaUse>, Vec<QuotaUse>),
    /// How late a thread woke from a sleep of one millisecond, on every CPU that we may use.
    pub late_ns: Summary,
    /// Time that one read of the clock takes, nanoseconds.
    pub clock_read_ns: f64,
    /// Governors of the CPUs, each once; empty where the host has none.
    pub governors: Vec<String>,
    /// Daemons that run and could be paused, each with its process: one moves interrupts, one
    /// starts jobs.
    pub daemons: Vec<String>,
    /// Whether the driver `uring` works, or why not.
    pub uring: Result<(), String>,
    /// Whether the kernel can encrypt TLS, or why not.
    pub ktls: Result<(), String>,
}

/// Whether a host is fit to measure on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkup {
    /// [`SCHEMA`].
    pub schema: String,
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Length of the observation, seconds.
    pub length_s: f64,
    /// Whether no check says that it is unfit.
    pub fit: bool,
    /// In the order in which they are printed.
    pub checks: Vec<Checked>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// What is checked.
    pub name: String,
    /// Its result.
    pub fitness: Fitness,
    /// What was found, with units.
    pub found: String,
    /// What it costs; empty when it costs nothing.
    pub cost: String,
    /// How to change it; empty when there is nothing to change.
    pub change: String,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// It has no noticeable cost.
    Fit,
    /// It costs something, but figures still describe the server.
    Caution,
    /// Figures would describe this host's problem and not the server.
    Unfit,
    /// It could not be observed.
    NotKnown,
}
