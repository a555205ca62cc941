//! Whether verdicts, percentiles and costs are right, on a machine that is quiet.
//!
//! Each test measures once and may fail when something else runs. `make test-truth` runs all of
//! them many times, as root, and asks of each that it is right nine times of ten.

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

/// Tests that make load at the same time. Tests are measured on a quiet machine.
const LOADS_AT_ONCE: usize = 1;
