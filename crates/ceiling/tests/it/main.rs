//! The command against real servers: the only integration binary.
//!
//! Tests take turns: load from two of them at once would make both wrong. They use the programs in
//! `bin/` for servers (`make build`), and the command as cargo has just built it.

mod advise;
mod harness;

mod usage;

mod targets;

mod verdicts;

mod routes;

mod latency;
mod mixes;

mod tls;

mod endings;

mod expect;
mod experiments;

mod find;

mod open;
mod probe;
mod ranch;

mod churn;
mod fanout;
mod far_tune;

mod confirm;
mod profile;
mod size;

mod interrupts;
mod secrets;
mod steps;
mod tune;
