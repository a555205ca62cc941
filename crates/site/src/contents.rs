//! What the pages of an entry are made of, beside what its `entry.toml` says.

use crate::notes::Filling;
use model::experiment::Experiment;
use model::run::Run;

/// What an entry has besides its `entry.toml`.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The plan as it is written; nothing for an entry without one.
    pub plan: Option<String>,
    /// The notes as they are written.
    pub notes: String,
    /// What stands in the notes in place of references.
    pub fillings: Vec<Filling>,
    /// What became of each prediction, in the order of the entry.
    pub predictions: Vec<Judged>,
    /// What became of each finding, in the order of the entry.
    pub findings: Vec<Judged>,
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

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// The intervals do not decide it.
    Undecided,
    /// It names a figure that is not there.
    Dangling,
}

impl State {
    /// The word on the page, which is also its class.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
            Self::Dangling => "dangling",
        }
    }

    /// The sign before the word.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Holds => "\u{2713}",
            Self::Fails | Self::Dangling => "\u{2717}",
            Self::Undecided => "?",
        }
    }
}

/// A condition with what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Whether it holds.
    pub state: State,
    /// The figures that decided it, or why it could not be decided.
    pub why: String,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// Its name in the entry.
    pub name: String,
    /// What made it, in words.
    pub tool: String,
    /// As it was.
    pub text: String,
    /// What an audit says of its figures; nothing when none was made.
    pub claims: Option<Vec<Claim>>,
}

/// What an audit says of one figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What it is of.
    pub name: String,
    /// The figure as the tool gave it.
    pub value: String,
    /// `holds`, `cannot be`, or `cannot be told from this`.
    pub result: String,
    /// The arithmetic in one line.
    pub why: String,
}
