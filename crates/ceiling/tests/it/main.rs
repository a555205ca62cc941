//! The command against real servers on loopback: counts and texts.
//!
//! Any user may run these tests. They change nothing on the host, and do not depend on speed: they
//! compare requests, statuses, bytes, records, exit codes and texts, and never a rate, a latency or
//! a verdict. Those are in `tests/truth`; tests that change a host are in `tests/host`.

#![allow(clippy::disallowed_macros, reason = "a test prints for whoever reads its log")]

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
mod flows;
mod fronts;
mod grpc;
mod hostile;
mod http2;
mod imports;
mod journal;
mod journal_pack;
mod kernel_evidence;
mod levels;
mod limits;
mod live;
mod mixes;
mod open;
mod output;
mod probe;
mod profile;
mod ranch;
mod readme;
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

/// How many tests make load at the same time. Nothing here depends on what else runs.
const LOADS_AT_ONCE: usize = 6;
