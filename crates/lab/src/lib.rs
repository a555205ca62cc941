//! The conductor: turns a trial into a run.
//!
//! What this room is for: bringing engine, probe and judge together, level after level, and ending
//! in order whatever happens.
//! In: a trial, a flag that asks to stop, a function that receives events. Out: a run, complete or
//! partial, or the reason why none could start.
//! Never: protocol details, drawing, starting a server; files, except the journal of what
//! `--confirm` changed.

mod fanout;
mod target;
mod turnover;

mod limits;
mod ports;

mod calls;
pub mod checkup;
mod crews;
pub mod drift;
mod error;
pub mod follow;
mod gather;
mod hosts_now;
mod inside_kernel;
mod interim;
mod judged;
mod level;
mod line;
mod machine;
mod mix;
mod openings;
pub mod pass;
mod planned;
mod point;
mod preflight;
mod record;
mod run;
mod samples;
mod search;
pub mod setting;
mod settled;
mod setup;
mod silence;
mod streams;
mod tool;
mod visit;
mod watch;

mod burn;
mod confirm;
mod profiled;
mod profiler;

mod server;

pub use preflight::{GreetError, SecretsError};

pub use error::{LabError, ToolError};
pub use machine::ThisHost;
pub use mix::keep_requests;
pub use run::{Reporting, Verdicts, run, run_in};
pub use watch::Logs;

#[cfg(test)]
mod fake_host;
