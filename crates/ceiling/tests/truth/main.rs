//! Whether verdicts, percentiles and costs are right, on a quiet machine.
//!
//! Each test measures once and may fail if something else runs. `make test-truth` runs all of them
//! many times, as root, and requires each to pass nine times of ten.

#![allow(clippy::disallowed_macros, reason = "a test prints for whoever reads its log")]

#[path = "../harness/mod.rs"]
mod harness;

mod churn;
mod confirm;
mod fanout;
mod find;
mod latency;
mod open;
mod probe;
mod ranch;
mod size;
mod targets;
mod verdicts;

/// How many tests make load at the same time: one, because each needs a quiet machine.
const LOADS_AT_ONCE: usize = 1;
