//! The record of an experiment: its cells, each with its run or the reason why it has none.
//!
//! Names in this file are the schema `ceiling.experiment/1`. Adding a field is free.

use crate::analysis::{Analysis, Exclusion, Factor};
pub use crate::conclusion::Conclusion;
use crate::figure::Figure;
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
    /// How its cells were visited; absent when each was visited once, in the order of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<Design>,
    /// Why it ended before the last block of its design; absent when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// How long its visits took, with what was between them, seconds; if it was resumed, all parts
    /// together. Absent before the first visit has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_s: Option<f64>,
    /// The hosts that the plan names, and where they were; empty when it names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostUsed>,
    /// One entry per visit of a cell, in the order of the visits; without a design one per cell.
    pub cells: Vec<CellResult>,
    /// Each cell over all its visits; empty without a design.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<CellSummary>,
    /// Cells against the baseline of the design; empty without a design.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrasts: Vec<Contrast>,
    /// Levels of cells against the same levels of the baseline; empty where visits have one level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelContrast>,
    /// The predictions of the plan, with their results.
    pub predictions: Vec<PredictionResult>,
    /// What follows from all visits together; absent until the experiment has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
}

/// A host of a plan, as it was given. Token and pin are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostUsed {
    /// What the plan calls it.
    pub name: String,
    /// Address of its probe; `null` for the host that `ceiling run` ran on.
    pub probe: Option<String>,
    /// The limits of its link, in the syntax of `--link`; `null` when not stated.
    pub link: Option<String>,
}

/// How often the cells are visited, in which order, and when the experiment may end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Names of the cells, in the order of the plan.
    pub cells: Vec<String>,
    /// Each block visits each cell once.
    pub blocks: u32,
    /// The order of the cells in a block.
    pub order: Order,
    /// Seed of that order.
    pub seed: u64,
    /// Name of the cell that the others are compared with.
    pub baseline: String,
    /// The figure that the experiment is about: its conclusion names this figure, and `precision`
    /// and `until_decided` wait for it.
    pub figure: Figure,
    /// A change from -x to +x counts as the same; 0.02 is 2 %.
    pub same_within: f64,
    /// The experiment ends when every interval of a ratio, at the risk of that look, is as narrow
    /// as -x to +x.
    pub precision: Option<f64>,
    /// The experiment ends when no contrast of rates is undecided.
    pub until_decided: bool,
    /// No block starts after this time.
    pub budget_ns: Option<u64>,
    /// Idle time before each visit.
    pub pause_ns: u64,
    /// When a server is started.
    pub restart: Restart,
    /// Visits before the first block, as block 0; they count in no figure.
    pub warmup_visits: u32,
    /// Name of the cell that repeats the baseline: its contrast is what the host varies by itself.
    /// Absent without a floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<String>,
    /// What differs between the cells, when at least two things do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
    /// Which part of all combinations is measured; absent when all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<String>,
    /// Visits that are left out of all figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<Exclusion>,
}

impl Design {
    /// The cells that are compared with the baseline: all others except the floor.
    pub fn compared(&self) -> impl Iterator<Item = &String> {
        let is_compared =
            |cell: &&String| **cell != self.baseline && Some(*cell) != self.floor.as_ref();
        self.cells.iter().filter(is_compared)
    }
}

/// When a server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// For each visit.
    #[default]
    Cell,
    /// Once per block for all cells that have the same server.
    Block,
}

/// The order of the cells in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Drawn for each block from the seed.
    Random,
    /// As in the plan, and reversed in every second block.
    Abba,
    /// As in the plan.
    Plan,
}

/// Why an experiment ended before its last block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Every contrast of rates was decided.
    Decided,
    /// Every interval was narrow enough.
    Precise,
    /// Its time budget was used up.
    Budget,
}

/// A figure of a cell over all its visits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    /// The cell.
    pub cell: String,
    /// The figure.
    pub figure: Figure,
    /// Visits with a valid figure.
    pub visits: u64,
    /// Its median.
    pub median: f64,
    /// Lower end of the 95 % interval of the median; `null` for fewer than six visits.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
}

/// A figure of one cell against the same of the baseline, over the blocks that visited both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// The cell.
    pub cell: String,
    /// The cell that it is compared with.
    pub baseline: String,
    /// What is compared.
    pub figure: Figure,
    /// Blocks in which both have a valid figure.
    pub pairs: u64,
    /// Geometric mean of their ratios; `null` for fewer than three pairs.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// What follows; `null` for fewer than three pairs.
    pub conclusion: Option<Conclusion>,
    /// Blocks that would probably decide it; only for an undecided one, `null` when none would.
    pub more_blocks: Option<u64>,
    /// It differs by less than the host varies by itself, and is undecided for that reason alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub below_floor: bool,
}

/// A level of a cell against the same level of the baseline. All levels of all cells share the risk
/// of a false difference in a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelContrast {
    /// Its load; `null` for all levels together, by the geometric mean of their ratios.
    pub load: Option<u64>,
    /// Median of the figure in the baseline; `null` for all levels together.
    pub base: Option<f64>,
    /// Median of the figure in the cell; `null` for all levels together.
    pub changed: Option<f64>,
    /// What follows.
    #[serde(flatten)]
    pub contrast: Contrast,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A prediction of a plan: the rate of some cells relative to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedPrediction {
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
    pub high: Option<f64>,
    /// How it was calculated.
    #[serde(default)]
    pub why: String,
    /// The run that it was calculated from; empty when none was.
    #[serde(default)]
    pub run: String,
}

impl PlannedPrediction {
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
pub struct PredictionResult {
    /// The prediction.
    pub predicted: PlannedPrediction,
    /// Relative change of the rate that was measured; `null` when a cell has no valid number.
    pub measured: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Number of pairs of cells in the mean.
    pub pairs: u64,
    /// Whether it is inside the prediction; `null` when the interval does not decide, when rates
    /// are lower bounds that leave the change of the ceiling open, or when nothing was measured.
    pub inside: Option<bool>,
    /// One sentence: how it was compared, or why it could not be.
    pub why: String,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Its name in the plan.
    pub name: String,
    /// The host of its server, as the plan names it; absent when the plan names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The block of this visit, from 1; absent without a design.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Words of the command that started the server; empty when it was already running.
    pub server: Vec<String>,
    /// Words of the command that measured it.
    pub command: Vec<String>,
    /// Walls that the plan expects; empty when it expects nothing.
    pub expected: Vec<WallId>,
    /// Its outcome.
    pub fate: Fate,
    /// Outcome of the knobs of the cell: applied, then restored; empty when it had none.
    pub tuned: Vec<Tuned>,
    /// The server's own counts from its last line; null when it wrote none.
    pub stopped: Option<serde_json::Value>,
}

/// The outcome of one value of a knob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Its host, as the plan names it: `client` is the one that `ceiling run` runs on.
    pub host: String,
    /// The value and its outcome.
    #[serde(flatten)]
    pub row: Row,
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
    /// It was not measured: there is no number.
    Failed {
        /// Why, in one line.
        why: String,
    },
    /// The experiment ended before this cell.
    NotReached,
}

/// How many contrasts of the figure of a design are decided, and what it takes for the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decided {
    /// They are decided.
    pub decided: usize,
    /// All of them.
    pub all: usize,
    /// Blocks that would probably decide those others that blocks can decide; none if there are
    /// none.
    pub more_blocks: Option<u64>,
    /// How long these blocks take at the pace of the visits so far, seconds; none if that is not
    /// known.
    pub more_s: Option<f64>,
}

impl Experiment {
    /// How far the contrasts of its design are decided; nothing without contrasts.
    pub fn decided(&self) -> Option<Decided> {
        let design = self.design.as_ref()?;
        let main = || self.contrasts.iter().filter(|one| one.figure == design.figure);
        let is_open = |one: &&Contrast| {
            one.conclusion.is_none_or(|conclusion| conclusion == Conclusion::Undecided)
        };
        let all = main().count();
        let open = main().filter(is_open);
        let can_be = open.clone().filter(|one| !one.below_floor && one.ratio.is_some());
        let more_blocks = can_be.filter_map(|one| one.more_blocks).max();
        let is_made = |cell: &&CellResult| !matches!(cell.fate, Fate::NotReached);
        let visits = self.cells.iter().filter(is_made).count();
        let visit_s = self.took_s.filter(|_| visits > 0).map(|took_s| took_s / visits as f64);
        let block_s = visit_s.map(|visit_s| visit_s * design.cells.len() as f64);
        let more_s = more_blocks.zip(block_s).map(|(blocks, block_s)| block_s * blocks as f64);
        (all > 0).then(|| Decided { decided: all - open.count(), all, more_blocks, more_s })
    }

    /// Cells that failed.
    pub fn failed(&self) -> usize {
        self.cells.iter().filter(|cell| matches!(cell.fate, Fate::Failed { .. })).count()
    }
}
