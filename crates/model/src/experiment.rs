//! What an experiment leaves behind: its cells, each with the run it left or the reason why it left
//! none.
//!
//! Names in this file are the schema `ceiling.experiment/1`. Adding a field is free.

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
    /// What it was to answer.
    pub question: String,
    /// One entry per cell of the plan, in its order.
    pub cells: Vec<CellResult>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Its name in the plan.
    pub name: String,
    /// Words that started the server; empty when somebody else had started it.
    pub server: Vec<String>,
    /// Words of the command that measured it.
    pub command: Vec<String>,
    /// Walls that the plan expects; empty when it expects nothing.
    pub expected: Vec<WallId>,
    /// What became of it.
    pub fate: Fate,
    /// The server's own account, which it wrote when it ended; null when it wrote none.
    pub stopped: Option<serde_json::Value>,
}

/// What became of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "kebab-case")]
pub enum Fate {
    /// It was measured; whether the measurement is valid is said by the run.
    Measured {
        /// Id of the run, which is in the folder `runs` beside the document.
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
