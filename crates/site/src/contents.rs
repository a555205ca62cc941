//! What the pages of an entry are made of, beside what its `entry.toml` says.

use journal::language::{Decision, Fault, Piece};
use model::audit::Audit;
use model::experiment::Experiment;
use model::run::Run;

/// What an entry has besides its `entry.toml`.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The plan as it is written; nothing for an entry without one.
    pub plan: Option<String>,
    /// The notes with their references filled.
    pub notes: Vec<Piece>,
    /// What became of each prediction, in the order of the entry; empty before there is data.
    pub predictions: Vec<Result<Decision, Fault>>,
    /// What became of each finding, in the same way.
    pub findings: Vec<Result<Decision, Fault>>,
    /// Results, the oldest first.
    pub results: Vec<Measured>,
    /// The result that the entry speaks of: its place among the results.
    pub chosen: Option<usize>,
    /// Runs that were added by hand.
    pub runs: Vec<Added>,
    /// What other tools said.
    pub foreign: Vec<Foreign>,
    /// What is wrong with the entry, one sentence each.
    pub complaints: Vec<String>,
}

/// A result: what one experiment measured.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its name, which begins with its time.
    pub id: String,
    /// Its document.
    pub experiment: Experiment,
    /// What each cell left, in the order of the cells.
    pub runs: Vec<Option<Run>>,
}

/// A run that was added by hand.
#[derive(Debug, Clone)]
pub struct Added {
    /// Its name in the entry.
    pub name: String,
    /// The run.
    pub run: Run,
}

/// What another tool printed or wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// Its name in the entry.
    pub name: String,
    /// As it was.
    pub text: String,
    /// What an audit says of its figures; nothing when none was made.
    pub audit: Option<Audit>,
}
