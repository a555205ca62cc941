//! What changes a host: knobs, control groups, namespaces, interrupts, mounts.
//!
//! These need root and a host that is free: `make test-host`. They look at
//! counts and effects, and at nothing that depends on time.

#[path = "../harness/mod.rs"]
mod harness;

mod advise;
mod disk;
mod far_tune;
mod interrupts;
mod perf;
mod ports;
mod steps;
mod touch;
mod tune;
