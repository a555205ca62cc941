//! One file per sub-command.

pub mod agent;
pub mod fleet;
pub mod probe;

pub mod advise;
pub mod attempt;
pub mod audit;
pub mod compare;
pub mod front;
pub mod grpc;
pub mod import;
pub mod journal;
pub mod run;
pub mod runs;
pub mod show;
pub mod size;
pub mod tune;

pub mod completions;
pub mod doctor;
pub mod keep;
pub mod man;

/// The kinds of values of all options.
pub fn kinds() -> Vec<plan::Kind> {
    [plan::kinds(), fleet::kinds(), tune::kinds(), journal::kinds(), import::kinds()].concat()
}
