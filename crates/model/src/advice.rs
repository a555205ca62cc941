//! What to try next after a run: every knob, ranked by its prediction from the run.
//!
//! Names in this file are the schema `ceiling.advice/1`. Adding a field is free.

use crate::experiment::PredictionResult;
use crate::step::Step;
use crate::tuning::{Prediction, Scope, Signals, TakesEffect};
use serde::{Deserialize, Serialize};

/// Schema of [`Advice`].
pub const SCHEMA: &str = "ceiling.advice/1";

/// What a run predicts of all knobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: String,
    /// Id of the run.
    pub run: String,
    /// The figures that predictions rest on.
    pub signals: Signals,
    /// Predicted to move the rate by more than the noise of the run; most promising first.
    pub worth: Vec<Candidate>,
    /// Knobs whose prediction needs something that was not measured.
    pub unknown: Vec<Candidate>,
    /// Cannot matter now.
    pub not_now: Vec<Candidate>,
    /// Why nothing can be proposed from this run; absent when something may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nothing_because: Option<String>,
}

/// One knob as the run sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Id of the knob, for example `T5`.
    pub knob: String,
    /// Its name, for example `rps`.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// Who turns it.
    pub by: By,
    /// What it touches.
    pub scope: Scope,
    /// When a change takes effect.
    pub takes_effect: TakesEffect,
    /// Whether it can cut connections.
    pub is_disruptive: bool,
    /// What it can cost.
    pub risk: String,
    /// What a change would do to the rate.
    pub prediction: Prediction,
    /// What would test it, or measure what is not known; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Step>,
}

/// Who turns a knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// `ceiling tune`, or a plan.
    Ceiling,
    /// A person or another program.
    People,
}

impl Candidate {
    /// As shown: id and name.
    pub fn title(&self) -> String {
        format!("{} {}", self.knob, self.name)
    }
}

/// Schema of [`Calibration`].
pub const CALIBRATION_SCHEMA: &str = "ceiling.calibration/1";

/// Every tested prediction, and how often the predictions of a knob held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// [`CALIBRATION_SCHEMA`].
    pub schema: String,
    /// One entry per prediction, oldest first.
    pub entries: Vec<Remembered>,
    /// How often the predictions of each knob held.
    pub knobs: Vec<Tally>,
    /// How often the predictions of all knobs held; its `knob` is empty.
    pub all: Tally,
}

/// A prediction of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Id of the experiment.
    pub experiment: String,
    /// Its start, RFC 3339.
    pub started_at: String,
    /// The prediction and its result.
    pub kept: PredictionResult,
}

/// How often predictions held.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Id of the knob.
    pub knob: String,
    /// Measured inside the prediction.
    pub inside: u64,
    /// Measured outside of it.
    pub outside: u64,
    /// The measurement does not decide.
    pub open: u64,
}
