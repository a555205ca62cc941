//! Recomputes the figures and findings of an entry from its runs.
//!
//! In: an entry with its runs. Out: for each verdict, figure and finding, whether the result is the
//! same. Figures that a run counted itself, such as its rate and CPU time, are only in its record
//! and are taken from there. Gates, bounds and verdicts are judged again from raw readings,
//! percentiles from full distributions, and medians, contrasts and findings from these. Percentiles
//! without a distribution (of devices, of events, of other tools), and the audits of other tools'
//! output, are not made again.

mod run;

use crate::JournalError;
use crate::check::{EntryChecked, Judged, judged};
use crate::data::{ResultData, StoredRun};
use crate::figures::{Named, ResultFigures};
use crate::folder::EntryFolder;
use crate::language::{Path, Quantity, Truth, Value, shown_value};
use crate::world::World;
use model::experiment::{CellSummary, Experiment};
use model::figure::Figure;
use model::maps::IntoMap;
use model::run::Record;
pub(crate) use run::{Again, again};
use serde::Serialize;
use std::collections::BTreeMap;
use std::slice;
use trials::experiment::analysed;

/// Ratios computed on another processor may differ in the last bits.
const SAME_WITHIN: f64 = 1e-9;
/// Where archives keep five digits of what was observed, what is derived from it has three or more.
const ROUNDED_WITHIN: f64 = 1e-3;

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
    /// It is as it was.
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
pub(crate) struct ResultAgain {
    id: String,
    was: ResultData,
    experiment: Experiment,
    /// The run of each visit.
    pub(crate) runs: Vec<Option<Again>>,
    open: Open,
    /// Figures that differ by a smaller share are the same.
    same_within: f64,
}

/// What cannot be recomputed, with the reason.
#[derive(Debug, Clone, Default)]
struct Open {
    /// Cells with a visit that cannot be, or added runs, by name.
    whole: BTreeMap<String, String>,
    /// Those of which only the times cannot be.
    times: BTreeMap<String, String>,
}

/// Why a figure cannot be recomputed.
#[derive(Debug, Clone, Default)]
struct Why {
    /// Nothing of it can be.
    is_open: Option<String>,
    /// Only its summary can be, from values that are taken as they are: that it is the same says
    /// nothing, and that it differs does.
    is_kept: Option<String>,
}

impl Open {
    /// Adds what a recomputed run leaves open.
    fn add(&mut self, name: &str, about: &str, again: &Again) {
        if let Outcome::CannotBe { why } = &again.line.outcome {
            self.whole.insert(name.to_string(), format!("{about}: {why}"));
        }
        if let Some(why) = &again.times_open {
            self.times.insert(name.to_string(), format!("{about}: {why}"));
        }
    }

    /// Why a figure of one of these cells or runs is open.
    fn why(&self, names: &[&str], figure: &str) -> Why {
        let of =
            |map: &BTreeMap<String, String>| names.iter().find_map(|one| map.get(*one)).cloned();
        let times = is_time(figure).then(|| of(&self.times)).flatten();
        Why { is_open: of(&self.whole), is_kept: times }
    }

    /// Why a figure at a path into the result is open.
    fn why_at(&self, names: &[&str]) -> Why {
        let figure = names.iter().find(|name| is_time(name)).copied().unwrap_or_default();
        // A contrast needs two cells, and the conclusions of one figure are computed together.
        let all: Vec<&str> = match names.contains(&"contrasts") {
            true => self.whole.keys().chain(self.times.keys()).map(String::as_str).collect(),
            false => names.to_vec(),
        };
        self.why(&all, figure)
    }
}

impl ResultAgain {
    fn records(&self) -> Vec<Option<Record>> {
        self.runs.iter().map(|again| again.as_ref()?.record.clone()).collect()
    }

    /// Each figure of it.
    pub(crate) fn figures(&self) -> Vec<Line> {
        figures(self)
    }

    /// What cannot be recomputed of it.
    fn open(&self) -> Open {
        let of = &self.was.experiment;
        if of.analysis.is_some() {
            return self.open.clone();
        }
        let why = "the experiment did not end".to_string();
        let whole = of.cells.iter().map(|cell| (cell.name.clone(), why.clone())).into_map();
        Open { whole, ..self.open.clone() }
    }
}

/// Recomputes all statements of an entry.
pub fn remade(entry: &EntryFolder) -> Result<Remade, JournalError> {
    let mut made = Remade::default();
    let entries = slice::from_ref(entry);
    let (was, now) = (World::of(entries), World::of(entries));
    let mut results = BTreeMap::new();
    for id in entry.results()? {
        let again = match of_result(entry, &id) {
            Ok(again) => again,
            Err(why) => {
                let (about, value) = (format!("results.{id}"), "not known".to_string());
                let outcome = Outcome::CannotBe { why: why.to_string() };
                made.figures.push(Line { about, value, outcome });
                continue;
            }
        };
        let named = |again: &Again| {
            let line = again.line.clone();
            Line { about: format!("{id}, {}", line.about), ..line }
        };
        made.runs.extend(again.runs.iter().flatten().map(named));
        made.figures.extend(again.figures());
        results.insert(id.clone(), again.open());
        let records = again.records();
        now.put(entry, &id, again.experiment, &records);
    }
    let mut open_runs = Open::default();
    for kept in entry.added_runs()? {
        let again = run::again(entry, &kept);
        open_runs.add(&kept.name, &kept.about, &again);
        if let Some(record) = &again.record {
            now.put_run(entry, &kept.name, record);
        }
        made.runs.push(again.line);
    }
    let why_open = |path: &Path| -> Why {
        let open = |why: String| Why { is_open: Some(why), is_kept: None };
        let names = path.names();
        let own = match &names[..] {
            ["entries", slug, rest @ ..] if *slug == entry.slug.as_str() => rest,
            all => all,
        };
        match own {
            ["runs", name, figure] => return open_runs.why(&[*name], figure),
            ["foreign", name, ..] => return open(format!("{name}: its audit is taken as it is")),
            _ => {}
        }
        let result = was.within(entry).result_of(path).and_then(|(_, id)| results.get(&id));
        result.map_or_else(Why::default, |result: &Open| result.why_at(&names))
    };
    made.findings = findings(&judged(&was, entry), &judged(&now, entry), &why_open);
    Ok(made)
}

/// Judges the runs of a result again, and everything that follows from them.
pub(crate) fn of_result(entry: &EntryFolder, id: &str) -> Result<ResultAgain, JournalError> {
    let was = entry.result(id)?;
    let mut open = Open::default();
    let mut runs = Vec::new();
    let visits = entry.visits(id)?;
    let is_rounded = visits.iter().flatten().any(StoredRun::is_rounded);
    let same_within = if is_rounded { ROUNDED_WITHIN } else { SAME_WITHIN };
    for (cell, kept) in was.experiment.cells.iter().zip(visits) {
        let again = kept.map(|kept| run::again(entry, &kept));
        if let Some(again) = &again {
            open.add(&cell.name, &again.line.about, again);
        }
        runs.push(again);
    }
    let visits: Vec<_> = runs.iter().map(|again| again.as_ref().and_then(Again::visit)).collect();
    let experiment = analysed(was.experiment.clone(), &visits);
    Ok(ResultAgain { id: id.to_string(), was, experiment, runs, open, same_within })
}

/// Each figure of a result.
fn figures(of: &ResultAgain) -> Vec<Line> {
    let was = ResultFigures::of(&of.was.experiment, &of.was.records);
    let now = ResultFigures::of(&of.experiment, &of.records());
    let open = of.open();
    let mut lines = Vec::new();
    for (cell, named) in &was.cells {
        let path = format!("results.{}.cells.{cell}", of.id);
        let why = |name: &str| open.why(&[cell.as_str()], name);
        lines.extend(each(&path, (named, now.cells.get(cell)), of.same_within, &why));
        lines.extend(medians(of, cell).filter(|_| !open.whole.contains_key(cell)));
    }
    let design = of.was.experiment.design.as_ref();
    let baseline = design.map_or("", |design| design.baseline.as_str());
    for (cell, by_figure) in &was.contrasts {
        for (figure, named) in by_figure {
            let path = format!("results.{}.contrasts.{cell}.{figure}", of.id);
            let now = now.contrasts.get(cell).and_then(|now| now.get(figure));
            let why = |_: &str| open.why(&[cell.as_str(), baseline], figure);
            lines.extend(each(&path, (named, now), of.same_within, &why));
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
        if now.is_none_or(|now| !is_close(was.median, now, of.same_within)) {
            let about = format!("results.{}.summaries.{cell}.{}", of.id, was.figure);
            let now = now.map_or("nothing".to_string(), |now| now.to_string());
            let outcome = Outcome::Differs { now };
            lines.push(Line { about, value: was.median.to_string(), outcome });
        }
    }
    lines.into_iter()
}

/// Each figure with this path, the same if it is close enough; `open` says why one of them cannot
/// be recomputed.
fn each(
    path: &str,
    (was, now): (&Named, Option<&Named>),
    within: f64,
    open: &dyn Fn(&str) -> Why,
) -> Vec<Line> {
    let line = |(name, was): (&String, &Value)| {
        let now = now.and_then(|now| now.get(name));
        let Why { is_open, is_kept } = open(name);
        let outcome = match (is_open, now) {
            (Some(why), _) => Outcome::CannotBe { why },
            (None, Some(now)) if is_same(was, now, within) => same(is_kept),
            (None, Some(now)) => Outcome::Differs { now: shown_value(now) },
            (None, None) => Outcome::Differs { now: "nothing".to_string() },
        };
        Line { about: format!("{path}.{name}"), value: shown_value(was), outcome }
    };
    was.iter().filter(|(name, was)| !is_newer(name, was)).map(line).collect()
}

/// Whether it is a figure of a host that an older record does not have: its readings may.
fn is_newer(name: &str, was: &Value) -> bool {
    let is_of_host = matches!(Figure::parse(name), Some(Figure::Host(..)));
    is_of_host && matches!(was, Value::Unknown(_))
}

/// Whether it is the name of a percentile, of all levels or of one: `p99`, `p99.at.64`.
fn is_time(name: &str) -> bool {
    let figure = name.split(".at.").next().unwrap_or_default();
    matches!(Figure::parse(figure), Some(Figure::Time(..)))
}

/// The outcome of what is the same, unless it was compared with itself.
fn same(is_kept: Option<String>) -> Outcome {
    is_kept.map_or(Outcome::Same, |why| Outcome::CannotBe { why })
}

/// A value that is not finite is close to nothing but itself.
fn is_close(one: f64, two: f64, within: f64) -> bool {
    let apart = (one - two).abs();
    one == two || apart.is_finite() && apart <= within * one.abs().max(two.abs())
}

fn is_same(was: &Value, now: &Value, within: f64) -> bool {
    match (was, now) {
        (Value::Quantity(was), Value::Quantity(now)) => {
            let ends = |of: &Quantity| [of.value, of.low, of.high];
            let all = ends(was).into_iter().zip(ends(now));
            was.unit == now.unit && all.into_iter().all(|(one, two)| is_close(one, two, within))
        }
        (Value::Word(was), Value::Word(now)) => was == now,
        (Value::Unknown(_), Value::Unknown(_)) => true,
        _ => false,
    }
}

/// Findings and predictions, decided with the figures of the entry and with the recomputed ones.
/// `why_open` says why the figures at a path cannot be recomputed.
fn findings(was: &EntryChecked, now: &EntryChecked, why_open: &dyn Fn(&Path) -> Why) -> Vec<Line> {
    let both = |of: &EntryChecked| -> Vec<Judged> {
        of.findings.iter().chain(&of.predictions).cloned().collect()
    };
    let word = |truth: Option<Truth>| truth.map_or("not known", Truth::word).to_string();
    let line = |(was, now): (Judged, Judged)| {
        let whys: Vec<Why> = was.condition.paths().into_iter().map(why_open).collect();
        let open = whys.iter().find_map(|why| why.is_open.clone());
        let is_kept = whys.into_iter().find_map(|why| why.is_kept);
        let outcome = match (was.truth, now.truth) {
            (None, _) => Outcome::CannotBe { why: was.why },
            _ if open.is_some() => Outcome::CannotBe { why: open.unwrap_or_default() },
            (Some(was), Some(now)) if was == now => same(is_kept),
            (_, truth) => Outcome::Differs { now: format!("{}: {}", word(truth), now.why) },
        };
        Line { about: was.text, value: word(was.truth), outcome }
    };
    both(was).into_iter().zip(both(now)).map(line).collect()
}

#[cfg(test)]
mod tests;
