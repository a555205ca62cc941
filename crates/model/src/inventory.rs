//! What a directory of runs holds: one line for each run and each experiment.
//!
//! In: records, and what is known about the files. Out: the list that a person or a program reads.
//! Names in this file are the schema `ceiling.runs/1`. Adding a field is free.

use crate::claim::Claim;
use crate::experiment::{Experiment, Fate};
use crate::load::Question;
use crate::run::{Point, Record};
use crate::verdict::{Confidence, Named};
use serde::{Deserialize, Serialize};

/// Schema of [`Inventory`].
pub const SCHEMA: &str = "ceiling.runs/1";

/// A directory of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// [`SCHEMA`].
    pub schema: String,
    /// Where it is.
    pub directory: String,
    /// Newest first, as many as were requested.
    pub runs: Vec<Item>,
    /// Runs and experiments in the directory, listed or not.
    pub count: u64,
    /// Disk space of all of them, bytes.
    pub bytes: u64,
}

/// A run or an experiment of a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its name: its start time, and its seed or plan.
    pub id: String,
    /// The part of the id after its time if no other id has it, else the whole id. Every command
    /// that takes a run accepts it.
    pub short: String,
    /// Its state.
    pub state: State,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// `load`, `ramp`, `find`, `churn`, `fanout`, or `run` for an experiment.
    pub command: Option<String>,
    /// What was tested, without secrets; for an experiment, the plan.
    pub url: Option<String>,
    /// The main figure, per second: a ceiling, the result of a search, or a rate.
    pub rate: Option<f64>,
    /// What was found.
    pub found: Option<Found>,
    /// Disk space, bytes.
    pub bytes: u64,
    /// Why it could not be read.
    pub unreadable: Option<String>,
}

/// The state of the files of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It ended normally.
    Done,
    /// A process is writing it.
    BeingWritten,
    /// It did not end normally, and no process is writing it.
    Unfinished,
}

/// What was found in a run or an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Found {
    /// A run.
    Run {
        /// Whether its main figure may be used.
        valid: bool,
        /// The wall.
        wall: Named,
        /// Name of the wall.
        name: String,
        /// How sure.
        confidence: Confidence,
    },
    /// An experiment.
    Experiment {
        /// Cells of the plan.
        cells: u64,
        /// Cells with a run.
        measured: u64,
    },
}

impl Item {
    /// An item whose record is not known yet.
    pub fn unknown(id: &str, started_at: String, state: State) -> Self {
        let (id, short, bytes) = (id.to_string(), id.to_string(), 0);
        let (command, url, rate, found, unreadable) = (None, None, None, None, None);
        Self { id, short, state, started_at, command, url, rate, found, bytes, unreadable }
    }

    /// Fills in what a record says.
    pub fn of_record(self, record: &Record) -> Self {
        let verdict = &record.verdict;
        Self {
            command: Some(record.trial.question.word().to_string()),
            url: Some(record.target.url.clone()),
            rate: record.headline_rate(),
            found: Some(Found::Run {
                valid: record.claim().is_known(),
                wall: verdict.wall,
                name: verdict.name.clone(),
                confidence: verdict.confidence,
            }),
            ..self
        }
    }

    /// Fills in what the document of an experiment says.
    pub fn of_experiment(self, of: &Experiment) -> Self {
        let is_measured = |fate: &Fate| matches!(fate, Fate::Measured { .. });
        let measured = of.cells.iter().filter(|cell| is_measured(&cell.fate)).count();
        Self {
            command: Some("run".to_string()),
            url: Some(of.plan.clone()),
            found: Some(Found::Experiment {
                cells: of.cells.len() as u64,
                measured: measured as u64,
            }),
            ..self
        }
    }
}

impl Record {
    /// The main figure of the command, per second: the result of a search, the ceiling of a ramp,
    /// else the rate. Absent when nothing was measured or the figure is not known.
    pub fn headline_rate(&self) -> Option<f64> {
        if matches!(self.claim(), Claim::NotKnown(_)) {
            return None;
        }
        if let Some(search) = &self.search {
            return search.answer.as_ref()?.rate;
        }
        if let Some(tool) = &self.tool {
            return tool.rate;
        }
        let was_measured = |point: &&Point| point.window_ns.0 < point.window_ns.1;
        let mut rates = self.points.iter().filter(was_measured).map(Point::headline_rate);
        match self.trial.question {
            Question::Ramp => {
                let ceiling = self.verdict.ceiling.as_ref().map(|ceiling| ceiling.rate);
                ceiling.or_else(|| rates.max_by(f64::total_cmp))
            }
            _ => rates.next_back(),
        }
    }
}
