//! The search for the highest rate that holds an objective: its settings and its result.

use crate::objective::ObjectiveStanding;
use crate::verdict::{CeilingKind, Confidence};
use serde::{Deserialize, Serialize};

/// Settings of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchConfig {
    /// Lowest rate that is tried, per second, above zero; the search starts here.
    pub lowest: f64,
    /// Highest rate that is tried, per second.
    pub highest: f64,
    /// Width of the interval that is narrow enough, relative to its lower end; 0.001 to 1.
    pub precision: f64,
    /// Time for all trials and the pauses between them, nanoseconds.
    pub budget_ns: u64,
    /// Length of a whole trial, nanoseconds; far from the result trials are shorter.
    pub trial_ns: u64,
    /// Responses a trial needs so that the objective can be decided.
    pub answers_min: u64,
    /// Required certainty that a rate holds or misses, 0.5 to 1.
    pub confidence: f64,
    /// The bound on failures, in percent, that the search added to an objective that had none;
    /// `null` when it had one.
    pub errors_added_percent: Option<f64>,
}

crate::named! {
    /// What a trial of a search is for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Purpose {
        /// Finding a rate that misses.
        Grow = "grow",
        /// Halving the interval.
        Narrow = "narrow",
        /// Repeating an end of the interval until it is sure.
        Verify = "verify",
        /// A run below the result, which must hold.
        ConfirmBelow = "confirm below",
        /// A run above the interval, which must miss.
        ConfirmAbove = "confirm above",
    }
    /// The word in every rendering.
    fn word;
}

/// Whether a trial is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// It is.
    Sound,
    /// The generator sent requests late. That only adds latency: a term that is met despite it is
    /// met.
    ClientLate,
    /// The measurement itself is not valid.
    Invalid,
}

/// One trial of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchTrial {
    /// Rate that was planned, per second.
    pub rate: f64,
    /// Length of the measured window, seconds.
    pub duration_s: f64,
    /// What it was for.
    pub purpose: Purpose,
    /// How the objective stood.
    pub standing: ObjectiveStanding,
    /// Whether it is valid.
    pub trust: Trust,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The interval is as narrow as requested, and both ends are sure.
    Narrowed,
    /// The time was spent.
    BudgetSpent,
    /// The highest rate allowed holds.
    HighestHolds,
    /// The lowest rate allowed misses.
    LowestMisses,
    /// The generator could not keep up, before the objective was missed.
    ClientLimited,
    /// A rate could not be decided, however often it was tried.
    Undecidable,
}

/// A run next to the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchCheck {
    /// Rate, per second.
    pub rate: f64,
    /// Whether its outcome is the required one; `null` when no run was valid.
    pub agrees: Option<bool>,
    /// Runs made; more than one when the first disagreed or was not valid.
    pub runs: u32,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Highest rate shown to hold, per second; `null` when none was.
    pub rate: Option<f64>,
    /// Whether the limit was found above it.
    pub kind: CeilingKind,
    /// Lowest rate shown to miss above all that hold; `null` when none was.
    pub misses_at: Option<f64>,
    /// Width of the interval between the two, relative to `rate`.
    pub width: Option<f64>,
    /// Why it ended.
    pub ended: Ended,
    /// How sure: confirmed when both ends are sure and the runs next to them agree.
    pub confidence: Confidence,
    /// The run below, which must hold.
    pub below: Option<SearchCheck>,
    /// The run above, which must miss.
    pub above: Option<SearchCheck>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// A search in the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Its settings.
    pub config: SearchConfig,
    /// Every trial in order; each has its point in the record, except one that was cut before its
    /// window started.
    pub trials: Vec<SearchTrial>,
    /// What it found; `null` when it was interrupted.
    pub answer: Option<Answer>,
}
