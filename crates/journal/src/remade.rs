//! Recomputes the figures and findings of an entry from its runs.
//!
//! In: an entry with its runs. Out: for each verdict, figure and finding, whether the result is the
//! same. Figures that a run counted itself, such as its rate and CPU time, are only in its record
//! and are taken from there. Gates, bounds and verdicts are judged again from raw readings,
//! percentiles from full distributions, and medians, contrasts and findings from these. The audits
//! of other tools' output are not made again.

mod run;

use crate::JournalError;
use crate::check::{EntryChecked, Judged, judged};
use crate::data::ResultData;
use crate::figures::{Named, ResultFigures, name_of};
use crate::folder::EntryFolder;
use crate::language::{Figure, Path, Truth, Value, shown_value};
use crate::world::World;
use judge::experiment::analysed;
use model::experiment::{CellSummary, Experiment};
use model::maps::IntoMap;
use model::run::Record;
use run::Again;
use serde::Serialize;
use std::collections::BTreeMap;
use std::slice;

/// Ratios computed on another processor may differ in the last bits.
const SAME_WITHIN: f64 = 1e-9;

/// The results.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Remade {
    /// Each run, by its verdict, gates and percentiles.
    pub runs: Vec<Line>,
    /// Each figure of each result.
    pub figures: Vec<Line>,
    /// Each finding and each prediction.
    pub findings: Vec<Line>,
}

/// One recomputed item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The item: a run, the path of a figure, the text of a finding.
    pub about: String,
    /// What the entry says.
    pub value: String,
    /// The result.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The result of recomputing an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The same.
    Same,
    /// It differs.
    Differs {
        /// The new value.
        now: String,
    },
    /// It cannot be recomputed.
    CannotBe {
        /// Why.
        why: String,
    },
}

impl Remade {
    /// All lines.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.runs.iter().chain(&self.figures).chain(&self.findings)
    }
}

/// A result, recomputed from its runs.
struct ResultAgain {
    id: String,
    was: ResultData,
    experiment: Experiment,
    records: Vec<Option<Record>>,
    /// Cells with a visit that cannot be recomputed, with the reason.
    open_cells: BTreeMap<String, String>,
}

impl ResultAgain {
    /// Cells whose figures or contrasts cannot be recomputed, with the reason.
    fn open(&self) -> BTreeMap<String, String> {
        let of = &self.was.experiment;
        if of.analysis.is_some() {
            return self.open_cells.clone();
        }
        let why = "the experiment did not end".to_string();
        of.cells.iter().map(|cell| (cell.name.clone(), why.clone())).into_map()
    }
}

/// Recomputes all statements of an entry.
pub fn remade(entry: &EntryFolder) -> Result<Remade, JournalError> {
    let mut made = Remade::default();
    let entries = slice::from_ref(entry);
    let (was, now) = (World::of(entries), World::of(entries));
    let mut open = BTreeMap::new();
    for id in entry.results()? {
        let again = match of_result(entry, &id, &mut made.runs) {
            Ok(again) => again,
            Err(why) => {
                let (about, value) = (format!("results.{id}"), "not known".to_string());
                let outcome = Outcome::CannotBe { why: why.to_string() };
                made.figures.push(Line { about, value, outcome });
                continue;
            }
        };
        made.figures.extend(figures(&again));
        open.insert(id.clone(), again.open());
        now.put(entry, &id, again.experiment, &again.records);
    }
    let mut open_runs = BTreeMap::new();
    for (name, kept) in entry.runs()?.into_iter().zip(entry.all_runs(None)?) {
        let Again { line, run } = run::again(entry, &kept);
        match (&line.outcome, run) {
            (Outcome::CannotBe { why }, _) => {
                open_runs.insert(name, format!("{}: {why}", kept.about));
            }
            (_, Some(run)) => now.put_run(entry, &name, &run.record),
            _ => {}
        }
        made.runs.push(line);
    }
    let why_open = |path: &Path| {
        let names = path.names();
        let own = match &names[..] {
            ["entries", slug, rest @ ..] if *slug == entry.slug.as_str() => rest,
            all => all,
        };
        match own {
            ["runs", name, ..] => return open_runs.get(*name).cloned(),
            ["foreign", name, ..] => return Some(format!("{name}: its audit is taken as it is")),
            _ => {}
        }
        let (_, id) = was.within(entry).result_of(path)?;
        let cells: &BTreeMap<String, String> = open.get(&id)?;
        // A contrast needs two cells, and the conclusions of one figure are computed together.
        match names.contains(&"contrasts") {
            true => cells.values().next().cloned(),
            false => names.iter().find_map(|name| cells.get(*name).cloned()),
        }
    };
    made.findings = findings(&judged(&was, entry), &judged(&now, entry), &why_open);
    Ok(made)
}

/// Judges the runs of a result again.
fn of_result(
    entry: &EntryFolder,
    id: &str,
    lines: &mut Vec<Line>,
) -> Result<ResultAgain, JournalError> {
    let was = entry.result(id)?;
    let mut open_cells = BTreeMap::new();
    let mut runs = Vec::new();
    for (cell, kept) in was.experiment.cells.iter().zip(entry.visits(id)?) {
        let Some(kept) = kept else {
            runs.push(None);
            continue;
        };
        let Again { line, run } = run::again(entry, &kept);
        if let Outcome::CannotBe { why } = &line.outcome {
            open_cells.insert(cell.name.clone(), format!("{}: {why}", kept.about));
        }
        lines.push(Line { about: format!("{id}, {}", line.about), ..line });
        runs.push(run);
    }
    let experiment = analysed(was.experiment.clone(), &runs);
    let records = runs.into_iter().map(|run| run.map(|run| run.record)).collect();
    Ok(ResultAgain { id: id.to_string(), was, experiment, records, open_cells })
}

/// Each figure of a result.
fn figures(of: &ResultAgain) -> Vec<Line> {
    let was = ResultFigures::of(&of.was.experiment, &of.was.records);
    let now = ResultFigures::of(&of.experiment, &of.records);
    let open = of.open();
    let open = |cells: &[&str]| cells.iter().find_map(|cell| open.get(*cell).cloned());
    let mut lines = Vec::new();
    for (cell, named) in &was.cells {
        let path = format!("results.{}.cells.{cell}", of.id);
        let mut cell_lines = each(&path, named, now.cells.get(cell), open(&[cell]));
        cell_lines.extend(medians(of, cell).filter(|_| open(&[cell]).is_none()));
        lines.extend(cell_lines);
    }
    let design = of.was.experiment.design.as_ref();
    let baseline = design.map_or("", |design| design.baseline.as_str());
    for (cell, by_figure) in &was.contrasts {
        for (figure, named) in by_figure {
            let path = format!("results.{}.contrasts.{cell}.{figure}", of.id);
            let now = now.contrasts.get(cell).and_then(|now| now.get(figure));
            lines.extend(each(&path, named, now, open(&[cell, baseline])));
        }
    }
    lines
}

/// Medians of the document that the visits do not reproduce. A median with an interval is also
/// checked as a figure of the cell.
fn medians(of: &ResultAgain, cell: &str) -> impl Iterator<Item = Line> {
    let mut lines = Vec::new();
    for was in of.was.experiment.summaries.iter().filter(|one| one.cell == cell) {
        let same = |now: &&CellSummary| now.cell == was.cell && now.figure == was.figure;
        let now = of.experiment.summaries.iter().find(same).map(|now| now.median);
        if now.is_none_or(|now| !is_close(was.median, now)) {
            let about = format!("results.{}.summaries.{cell}.{}", of.id, name_of(was.figure));
            let now = now.map_or("nothing".to_string(), |now| now.to_string());
            let outcome = Outcome::Differs { now };
            lines.push(Line { about, value: was.median.to_string(), outcome });
        }
    }
    lines.into_iter()
}

fn each(path: &str, was: &Named, now: Option<&Named>, open: Option<String>) -> Vec<Line> {
    let line = |(name, was): (&String, &Value)| {
        let now = now.and_then(|now| now.get(name));
        let outcome = match (&open, now) {
            (Some(why), _) => Outcome::CannotBe { why: why.clone() },
            (None, Some(now)) if is_same(was, now) => Outcome::Same,
            (None, Some(now)) => Outcome::Differs { now: shown_value(now) },
            (None, None) => Outcome::Differs { now: "nothing".to_string() },
        };
        Line { about: format!("{path}.{name}"), value: shown_value(was), outcome }
    };
    was.iter().map(line).collect()
}

fn is_close(one: f64, two: f64) -> bool {
    one == two || (one - two).abs() <= SAME_WITHIN * one.abs().max(two.abs())
}

fn is_same(was: &Value, now: &Value) -> bool {
    match (was, now) {
        (Value::Figure(was), Value::Figure(now)) => {
            let ends = |of: &Figure| [of.value, of.low, of.high];
            let all = ends(was).into_iter().zip(ends(now));
            was.unit == now.unit && all.into_iter().all(|(one, two)| is_close(one, two))
        }
        (Value::Word(was), Value::Word(now)) => was == now,
        (Value::Unknown(_), Value::Unknown(_)) => true,
        _ => false,
    }
}

/// Findings and predictions, decided with the figures of the entry and with the recomputed ones.
/// `why_open` says why the figures at a path cannot be recomputed.
fn findings(
    was: &EntryChecked,
    now: &EntryChecked,
    why_open: &dyn Fn(&Path) -> Option<String>,
) -> Vec<Line> {
    let both = |of: &EntryChecked| -> Vec<Judged> {
        of.findings.iter().chain(&of.predictions).cloned().collect()
    };
    let word = |truth: Option<Truth>| truth.map_or("not known", Truth::word).to_string();
    let line = |(was, now): (Judged, Judged)| {
        let open = was.condition.paths().into_iter().find_map(why_open);
        let outcome = match (was.truth, now.truth) {
            (None, _) => Outcome::CannotBe { why: was.why },
            _ if open.is_some() => Outcome::CannotBe { why: open.unwrap_or_default() },
            (Some(was), Some(now)) if was == now => Outcome::Same,
            (_, truth) => Outcome::Differs { now: format!("{}: {}", word(truth), now.why) },
        };
        Line { about: was.text, value: word(was.truth), outcome }
    };
    both(was).into_iter().zip(both(now)).map(line).collect()
}

#[cfg(test)]
mod tests;
