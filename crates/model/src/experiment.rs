//! The record of an experiment: its cells, each with its run or the reason why it has none.
//!
//! Names in this file are the schema `ceiling.experiment/1`. Adding a field is free.

use crate::tuning::Row;
use crate::wall::WallId;
use serde::{Deserialize, Serialize};

/// Schema of [`Experiment`].
pub const SCHEMA: &str = "ceiling.experiment/1";

/// An experiment as one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// [`SCHEMA`].
    pub schema: String,
    /// Unique and sortable: start time and name of the plan.
    pub id: String,
    /// Version of ceiling.
    pub version: String,
    /// Start, RFC 3339.
    pub started_at: String,
    /// The plan file as it was named.
    pub plan: String,
    /// The question of the plan.
    pub question: String,
    /// One entry per cell of the plan, in its order.
    pub cells: Vec<CellResult>,
    /// The predictions of the plan, with their results.
    #[serde(default)]
    pub predictions: Vec<Kept>,
}

/// A prediction of a plan: the rate of some cells relative to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Foretold {
    /// Id of the knob.
    pub knob: String,
    /// Name of the cell that it is compared with, or of several: `as it is` also means `as it is,
    /// 1` and `as it is, 2`.
    pub baseline: String,
    /// Name of the cell, or cells, with the change.
    pub change: String,
    /// Least relative change of the rate, for example -0.02.
    pub low: f64,
    /// Largest; absent when only the next wall bounds it.
    #[serde(default)]
    pub high: Option<f64>,
    /// How it was calculated.
    #[serde(default)]
    pub why: String,
    /// The run that it was calculated from; empty when none was.
    #[serde(default)]
    pub run: String,
}

impl Foretold {
    /// Whether a side of a prediction means a cell: by its name, or its name and a number.
    pub fn means(side: &str, cell: &str) -> bool {
        let rest = cell.strip_prefix(side);
        rest.is_some_and(|rest| {
            let number = rest.strip_prefix(", ");
            rest.is_empty() || number.is_some_and(|number| number.parse::<u32>().is_ok())
        })
    }
}

/// A prediction and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The prediction.
    pub predicted: Foretold,
    /// Relative change of the rate that was measured; `null` when a cell has no valid number.
    pub measured: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Pairs of cells it is the mean of.
    pub pairs: u64,
    /// Whether it is inside the prediction; `null` when the interval does not decide, or when
    /// nothing was measured.
    pub inside: Option<bool>,
    /// One sentence: how it was compared, or why it could not be.
    pub why: String,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Its name in the plan.
    pub name: String,
    /// Words of the command that started the server; empty when it was already running.
    pub server: Vec<String>,
    /// Words of the command that measured it.
    pub command: Vec<String>,
    /// Walls that the plan expects; empty when it expects nothing.
    pub expected: Vec<WallId>,
    /// Its outcome.
    pub fate: Fate,
    /// Outcome of the knobs of the cell: applied, then restored; empty when it had none.
    #[serde(default)]
    pub tuned: Vec<Row>,
    /// The server's own counts from its last line; null when it wrote none.
    pub stopped: Option<serde_json::Value>,
}

/// The outcome of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "kebab-case")]
pub enum Fate {
    /// It was measured; the run says whether the measurement is valid.
    Measured {
        /// Id of the run, which is in the folder `runs` next to the document.
        run: String,
    },
    /// It was not: there is no number.
    Failed {
        /// Why, in one line.
        why: String,
    },
    /// The experiment ended before it.
    NotReached,
}

impl Experiment {
    /// Cells that failed.
    pub fn failed(&self) -> usize {
        self.cells.iter().filter(|cell| matches!(cell.fate, Fate::Failed { .. })).count()
    }
}
