//! The command against real servers on loopback: what is counted, and what is said.
//!
//! Any user may run these, nothing of the host is changed, and nothing depends on how fast anything
//! is: requests, statuses, bytes, records, exit codes and texts are compared, and never a rate, a
//! latency or a verdict. Those are in `tests/truth`; what changes a host is in `tests/host`.

#[path = "../harness/mod.rs"]
mod harness;

mod advise;
mod audit;
mod churn;
mod ci;
mod doctor;
mod endings;
mod expect;
mod experiments;
mod failures;
mod fanout;
mod find;
mod fleet;
mod journal;
mod journal_pack;
mod levels;
mod limits;
mod live;
mod mixes;
mod open;
mod output;
mod probe;
mod profile;
mod ranch;
mod regressions;
mod routes;
mod runs;
mod secrets;
mod site;
mod size;
mod starting;
mod targets;
mod tls;
mod tools;
mod tune;
mod usage;

/// Tests that make load at the same time. Nothing here depends on what else runs.
const LOADS_AT_ONCE: usize = 3;
