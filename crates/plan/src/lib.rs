//! What a person wrote: plan files and the list of targets.
//!
//! What this room is for: reading an experiment and what it may start, and making cells of it,
//! each fully resolved, before anything runs.
//! In: the text of two files. Out: cells, targets and services, or one line that says what is wrong
//! and what is accepted.
//! Never: processes, files, a clock. A plan starts nothing but targets and services that the list
//! names; but for those it needs trust for, see [`untrusted`]. Who takes a plan of another person
//! together with the list takes its programs too.

mod cells;
mod duel;
mod load;
mod target;
mod trust;
mod tune;

pub use cells::{Cell, Client, Plan, Server};
pub use duel::{Change, Duel};
pub use load::Load;
pub use target::{Target, Targets};
pub use trust::{HARMLESS, untrusted, without_secrets};
pub use tune::Tune;

/// Schema of a plan file.
pub const SCHEMA: &str = "ceiling.plan/1";

/// Why a file is no plan or no list of targets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// It is not TOML, or holds what is not known here.
    #[error("{0}")]
    Text(String),
    /// The schema is missing or another one.
    #[error("schema is '{0}' where '{SCHEMA}' is accepted; for example schema = \"{SCHEMA}\"")]
    Schema(String),
    /// A cell asks for what cannot be.
    #[error("cell '{cell}': {why}")]
    Cell {
        /// Name of the cell.
        cell: String,
        /// What is wrong, what is accepted, an example.
        why: String,
    },
}

/// The first line that matters of what the TOML reader says, with its place.
fn text_error(error: &toml::de::Error, text: &str) -> PlanError {
    let line =
        error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let place = line.map_or(String::new(), |line| format!("line {line}: "));
    PlanError::Text(format!("{place}{}", error.message().replace('\n', ", ")))
}

#[cfg(test)]
mod tests;
