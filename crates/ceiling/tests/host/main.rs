//! Tests that change a host: knobs, control groups, namespaces, interrupts, mounts.
//!
//! They run in virtual machines (`make test-host`) and refuse to run elsewhere. They check counts
//! and effects, and nothing that depends on time.

#![allow(clippy::disallowed_macros, reason = "a test prints for whoever reads its log")]

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../harness/spare.rs"]
mod spare;

mod advise;
mod containers;
mod disk;
mod experiments;
mod far_tune;
mod interrupts;
mod limited_start;
mod perf;
mod ports;
mod steps;
mod time_namespace;
mod tune;
mod two_hosts;
mod without_sock_diag;

/// How many tests make load at the same time: one, because tests change the host.
const LOADS_AT_ONCE: usize = 1;
