//! The contents of the pages of an entry, in addition to its `entry.toml`.

use journal::language::{Decision, Fault, Piece};
use model::audit::Audit;
use model::experiment::Experiment;
use model::run::Run;

/// The contents of an entry, in addition to its `entry.toml`.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The text of the plan; nothing for an entry without a plan.
    pub plan: Option<String>,
    /// The notes with their references filled.
    pub notes: Vec<Piece>,
    /// The decision on each prediction, in the order of the entry; empty without data.
    pub predictions: Vec<Result<Decision, Fault>>,
    /// The decision on each finding, likewise.
    pub findings: Vec<Result<Decision, Fault>>,
    /// Results, the oldest first.
    pub results: Vec<Measured>,
    /// Index of the chosen result.
    pub chosen: Option<usize>,
    /// Runs that were added by hand.
    pub runs: Vec<Added>,
    /// Outputs of other tools.
    pub foreign: Vec<Foreign>,
    /// Errors of the entry, one sentence each.
    pub complaints: Vec<String>,
}

/// A result: the measurements of one experiment.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its name, which starts with its time.
    pub id: String,
    /// Its document.
    pub experiment: Experiment,
    /// The run of each cell, in the order of the cells.
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

/// The output of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// Its name in the entry.
    pub name: String,
    /// The unchanged output.
    pub text: String,
    /// The audit of its figures; nothing when it was not audited.
    pub audit: Option<Audit>,
}
