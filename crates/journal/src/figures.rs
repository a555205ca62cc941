//! The figures of a result, by cell and contrast, and those of a single run.
//!
//! In: the document of an experiment and the records of its visits. Out: values with intervals, or
//! the reason why a figure is not known.

use crate::language::{Basis, Quantity, Value};
use ::figures::book::measured;
use ::figures::visit::{bounds, is_nothing, is_nothing_of_tool, least_of};
use judge::stats::{median, median_interval};
use model::analysis::VisitSeen;
use model::experiment::{CellResult, CellSummary, Contrast, Experiment, Fate, LevelContrast};
use model::figure::Figure;
use model::maps::IntoMap;
use model::run::{Point, Record};
use model::standing::Standing;
use model::tool::ToolRun;
use model::unit::Unit;
use model::verdict::{Ceiling, IntervalKind, Named as Verdict};
use model::visit::{best_point, failures_of};
use std::collections::BTreeMap;
use trials::experiment::further;

/// Figures of a cell or a run, by name.
pub type Named = BTreeMap<String, Value>;

/// Fewest visits for a 95 % interval of the median.
const VISITS_MIN: usize = 6;

/// The figures of one result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultFigures {
    /// By cell, then by name.
    pub cells: BTreeMap<String, Named>,
    /// By the compared cell, then by figure: ratio to the baseline and conclusion. `rate.at.64` is
    /// the rate of the level of that load, `rate.at.all` that of all levels together.
    pub contrasts: BTreeMap<String, BTreeMap<String, Named>>,
}

impl ResultFigures {
    /// The figures of an experiment. `records` has the record of each visit, in order.
    pub fn of(of: &Experiment, records: &[Option<Record>]) -> Self {
        let mut names: Vec<&str> = of.cells.iter().map(|cell| cell.name.as_str()).collect();
        names.extend(of.design.iter().flat_map(|design| design.cells.iter().map(String::as_str)));
        let mut cells = BTreeMap::new();
        for name in names {
            if !cells.contains_key(name) {
                cells.insert(name.to_string(), of_cell(of, name, records));
            }
        }
        let mut contrasts: BTreeMap<String, BTreeMap<String, Named>> = BTreeMap::new();
        for one in of.contrasts.iter().chain(&further(of)) {
            let by_figure = contrasts.entry(one.cell.clone()).or_default();
            let cells = [&one.cell, &one.baseline];
            let bounded = cells.map(|cell| bounded(of, records, cell, one.figure));
            let figures = of_contrast(one, bounded.into_iter().sum());
            by_figure.insert(one.figure.to_string(), figures);
        }
        for one in &of.levels {
            let by_figure = contrasts.entry(one.contrast.cell.clone()).or_default();
            let load = one.load.map_or_else(|| "all".to_string(), |load| load.to_string());
            by_figure.insert(format!("{}.at.{load}", one.contrast.figure), of_level(of, one));
        }
        Self { cells, contrasts }
    }
}

/// Whether a visit counts: it is not a warm-up, and no rule of the plan left it out.
fn counts(of: &Experiment, cell: &str, block: Option<u32>) -> bool {
    let mut excluded = of.analysis.iter().flat_map(|analysis| &analysis.excluded);
    block != Some(0) && !excluded.any(|one| one.cell == cell && Some(one.block) == block)
}

/// Of how many visits of a cell only bounds of a figure are known. Older documents do not say so,
/// but the records do.
fn bounded(of: &Experiment, records: &[Option<Record>], cell: &str, figure: Figure) -> usize {
    let seen = of.analysis.iter().flat_map(|analysis| &analysis.visits);
    let seen = seen.filter(|visit| visit.cell == cell && counts(of, cell, visit.block));
    let by_document = seen.filter(|visit| visit.bounds.contains_key(&figure)).count();
    let visits = of.cells.iter().zip(records);
    let visits = visits.filter(|(visit, _)| visit.name == cell && counts(of, cell, visit.block));
    let records = visits.filter_map(|(_, record)| record.as_ref());
    by_document.max(records.filter(|record| bounds(record).contains_key(&figure)).count())
}

fn of_cell(of: &Experiment, name: &str, records: &[Option<Record>]) -> Named {
    let visits = of.cells.iter().zip(records);
    let is_of = |cell: &CellResult| cell.name == name && counts(of, name, cell.block);
    let visits: Vec<_> = visits.filter(|(cell, _)| is_of(cell)).collect();
    let measured: Vec<&Record> = visits.iter().filter_map(|(_, record)| record.as_ref()).collect();
    // Those that can be read say nothing about the others.
    let is_missing = |(cell, record): &&(&CellResult, &Option<Record>)| {
        record.is_none() && matches!(cell.fate, Fate::Measured { .. })
    };
    let missing: Vec<_> = visits.iter().filter(is_missing).collect();
    if measured.is_empty() || !missing.is_empty() {
        let unread = if missing.is_empty() { visits.iter().collect() } else { missing };
        let why = why_none(unread.into_iter().map(|(cell, _)| *cell));
        return of_document(of, name, &why);
    }
    if let [only] = &measured[..]
        && visits.len() == 1
    {
        return of_record(only);
    }
    let mut named = Named::new();
    for figure in of_point() {
        let values = measured.iter().filter_map(|record| known(single(record, figure)));
        named.insert(figure.to_string(), over_visits(of, name, figure, values.collect()));
    }
    named.insert("errors".to_string(), errors_over(&measured));
    named.insert("wall".to_string(), walls(&measured));
    named
}

/// The figures of a cell without records of its visits: those in the document. The others are not
/// known, for this reason.
fn of_document(of: &Experiment, name: &str, why: &str) -> Named {
    let visits = of.analysis.iter().flat_map(|analysis| &analysis.visits);
    let visits = visits.filter(|visit| visit.cell == name && counts(of, name, visit.block));
    let visits: Vec<&VisitSeen> = visits.collect();
    let mut named = unknown(why);
    if visits.is_empty() {
        return named;
    }
    let is_kept = |figure: &Figure| {
        let has =
            |one: &&VisitSeen| one.figures.contains_key(figure) || one.bounds.contains_key(figure);
        Figure::COMPARED.contains(figure) || visits.iter().any(has)
    };
    for figure in Figure::of_visits().filter(is_kept) {
        let value = |visit: &&VisitSeen| {
            let bounds = visit.bounds.get(&figure);
            // Older documents have only the bounds of what is known from below.
            let value = visit.figures.get(&figure).or(bounds.map(|(low, _)| low)).copied()?;
            let ends = bounds.map_or((value, value), |(low, high)| {
                (low.min(value), high.map_or(f64::INFINITY, |high| high.max(value)))
            });
            Some(OfVisit::of(value, ends, figure.unit()))
        };
        let values = visits.iter().filter_map(value).collect();
        named.insert(figure.to_string(), over_visits(of, name, figure, values));
    }
    // A visit whose wall the document does not say may have any.
    let unknown = Verdict::Unknown.word();
    let mut found = BTreeMap::new();
    for wall in visits.iter().map(|visit| visit.wall.as_deref().unwrap_or(unknown)) {
        *found.entry(wall.to_string()).or_default() += 1;
    }
    if visits.iter().any(|visit| visit.wall.is_some()) {
        named.insert("wall".to_string(), Value::Word(found));
    }
    named
}

/// Why a cell has no record.
fn why_none<'a>(visits: impl Iterator<Item = &'a CellResult>) -> String {
    let why = |cell: &CellResult| match &cell.fate {
        Fate::Failed { why } => format!("the cell failed: {why}"),
        Fate::NotReached => "the experiment ended before the cell".to_string(),
        Fate::Measured { run } => format!("the run {run} cannot be read"),
    };
    visits.map(why).next().unwrap_or_else(|| "no visit of the cell counts".to_string())
}

/// The figures of a run that are numbers over its best point.
fn of_point() -> impl Iterator<Item = Figure> {
    Figure::of_visits().chain([Figure::P99_9])
}

fn unknown(why: &str) -> Named {
    let all = of_point().chain([Figure::Errors, Figure::Wall]);
    all.map(|figure| (figure.to_string(), Value::Unknown(why.to_string()))).into_map()
}

/// The summary in the document if it has one, over at least these visits; else the summary of these
/// values, one per visit.
fn over_visits(of: &Experiment, cell: &str, figure: Figure, values: Vec<OfVisit>) -> Value {
    let unit = figure.unit();
    let is_of = |one: &&CellSummary| one.cell == cell && one.figure == figure;
    let is_whole = |one: &&CellSummary| are_known(&values) && one.visits >= values.len() as u64;
    let summary = of.summaries.iter().find(is_of).filter(is_whole);
    match summary.and_then(|one| Some((one, one.low?, one.high?))) {
        Some((one, low, high)) => Value::Quantity(Quantity::between(
            unit.to_base(one.median),
            (unit.to_base(low), unit.to_base(high)),
            unit.base(),
            Basis::Visits(one.visits),
        )),
        None => of_values(values, unit.base(), figure.name()),
    }
}

/// A figure of one visit.
#[derive(Debug, Clone, Copy)]
struct OfVisit {
    value: f64,
    /// The least and the most that it can be: the value, unless only bounds of it are known.
    ends: (f64, f64),
}

impl OfVisit {
    /// By a value and its ends in this unit.
    fn of(value: f64, ends: (f64, f64), unit: Unit) -> Self {
        let ends = (unit.to_base(ends.0), unit.to_base(ends.1));
        Self { value: unit.to_base(value), ends }
    }
}

/// Whether the values are known, and not only bounds of some.
fn are_known(values: &[OfVisit]) -> bool {
    values.iter().all(|one| one.ends.0 == one.ends.1)
}

/// The median of values with its interval, or with their range when they are few. Where only bounds
/// of some are known, it reaches from the lower end of that of the lowest possible values to the
/// upper end of that of the highest.
fn of_values(values: Vec<OfVisit>, unit: Unit, name: &str) -> Value {
    let by = |pick: fn(&OfVisit) -> f64| values.iter().map(pick).collect::<Vec<f64>>();
    let middles = by(|one| one.value);
    let Some(middle) = median(&middles) else {
        return Value::Unknown(format!("no visit has a valid {name}"));
    };
    let count = values.len() as u64;
    let ends = |values: &[f64]| match median_interval(values) {
        Some(ends) if values.len() >= VISITS_MIN => (ends, Basis::Visits(count)),
        _ => {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            ((least, most), Basis::Range(count))
        }
    };
    if !are_known(&values) {
        let (least, most) = (ends(&by(|one| one.ends.0)).0.0, ends(&by(|one| one.ends.1)).0.1);
        return Value::Quantity(Quantity::between(middle, (least, most), unit, Basis::Bounds));
    }
    let (interval, basis) = ends(&middles);
    Value::Quantity(match count {
        1 => Quantity::alone(middle, unit),
        _ => Quantity::between(middle, interval, unit, basis),
    })
}

/// A figure of one visit, when it is known.
fn known(value: Value) -> Option<OfVisit> {
    let Value::Quantity(Quantity { value, low, high, basis, .. }) = value else { return None };
    let ends = if basis == Basis::Bounds { (low, high) } else { (value, value) };
    Some(OfVisit { value, ends })
}

/// The share of due requests without a good response; the range is from the visit with the smallest
/// share to the visit with the largest. It is not known where gates struck the counts of a visit.
fn errors_over(records: &[&Record]) -> Value {
    let struck = |record: &&Record| {
        let point = counted_point(record).filter(|_| record.tool.is_none())?;
        point.standing.of(Figure::Errors).reason().map(str::to_string)
    };
    let whys: Vec<String> = records.iter().filter_map(struck).collect();
    if let Some(why) = whys.first() {
        return Value::Unknown(match records.len() {
            1 => why.clone(),
            all => format!("in {} of {all} visits: {why}", whys.len()),
        });
    }
    let counted = |record: &&Record| match &record.tool {
        Some(tool) => tool.failures(),
        None => counted_point(record).map(failures_of),
    };
    let counts: Vec<(u64, u64)> =
        records.iter().filter_map(counted).filter(|(due, _)| *due > 0).collect();
    let share = |(due, without): (u64, u64)| without as f64 / due as f64;
    let all = counts.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    if all.0 == 0 {
        return Value::Unknown("no request was due".to_string());
    }
    let shares = || counts.iter().copied().map(share);
    let ends = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
    match ends.0 == ends.1 {
        true => Value::Quantity(Quantity::exact(share(all), Unit::Share)),
        false => {
            let basis = Basis::Range(counts.len() as u64);
            Value::Quantity(Quantity::between(share(all), ends, Unit::Share, basis))
        }
    }
}

/// The point whose requests are counted, also where no rate is known.
fn counted_point(of: &Record) -> Option<&Point> {
    best_point(of).map(|(_, point)| point).or(of.points.last())
}

fn walls(records: &[&Record]) -> Value {
    let mut walls = BTreeMap::new();
    for record in records {
        *walls.entry(record.verdict.wall.word().to_string()).or_default() += 1;
    }
    Value::Word(walls)
}

/// The figures of a single run.
pub fn of_record(of: &Record) -> Named {
    let mut named = Named::new();
    for figure in of_point() {
        named.insert(figure.to_string(), single(of, figure));
    }
    named.insert("errors".to_string(), errors_over(&[of]));
    named.insert("wall".to_string(), walls(&[of]));
    named
}

fn single(of: &Record, figure: Figure) -> Value {
    if let Some(tool) = &of.tool {
        let has_zero = figure.has_zero() || is_nothing_of_tool(tool, figure);
        let is_one = |value: &f64| value.is_finite() && (*value > 0.0 || has_zero);
        let value = tool.figure(figure).filter(is_one);
        return reported(tool, value.map(|value| alone(value, figure.unit())));
    }
    let Some((_, point)) = best_point(of) else {
        return Value::Unknown("the run has no point whose rate is known".to_string());
    };
    if let Some(least) = least_of(point, figure) {
        return from_below(least, figure.unit());
    }
    let has_zero = figure.has_zero() || is_nothing(point, figure);
    let is_one = |value: &f64| value.is_finite() && (*value > 0.0 || has_zero);
    let Some(value) = measured(point, figure).filter(is_one) else {
        return Value::Unknown(why_absent(point, figure));
    };
    let interval = of.verdict.ceiling.as_ref().filter(|_| figure == Figure::Rate);
    of_standing(value, &point.main().standing(figure), interval, figure.unit())
}

/// A percentile among the requests without a good response, which rank as slower than all others.
fn from_below(least: f64, unit: Unit) -> Value {
    bounded_by(least, (least, f64::INFINITY), unit, Basis::Bounds)
}

/// A value without an interval, in the unit of the record.
fn alone(value: f64, unit: Unit) -> Quantity {
    Quantity::alone(unit.to_base(value), unit.base())
}

/// A value with an interval, in the unit of the record.
fn bounded_by(value: f64, (low, high): (f64, f64), unit: Unit, basis: Basis) -> Value {
    let ends = (unit.to_base(low), unit.to_base(high));
    Value::Quantity(Quantity::between(unit.to_base(value), ends, unit.base(), basis))
}

const TOO_FEW: &str = "too few values for this percentile";

fn why_absent(point: &Point, figure: Figure) -> String {
    if let Some(why) = point.main().standing(figure).reason_unknown() {
        return why;
    }
    match figure {
        Figure::ServerCpu if point.main().costs().1.is_none() => {
            "the server was not observed".to_string()
        }
        Figure::Host(..) => "it was not read".to_string(),
        _ if figure.is_latency() && point.main_times().is_some() => TOO_FEW.to_string(),
        _ => "it was not measured".to_string(),
    }
}

/// A figure as another tool reported it.
fn reported(tool: &ToolRun, figure: Option<Quantity>) -> Value {
    let name = tool.generator.name();
    let unknown = || Value::Unknown(format!("{name} does not report it, or its value cannot be"));
    figure.map_or_else(unknown, Value::Quantity)
}

/// A figure of one visit, as far as its standing allows.
fn of_standing(value: f64, standing: &Standing, ceiling: Option<&Ceiling>, unit: Unit) -> Value {
    match (standing, ceiling) {
        (Standing::NotKnown { why }, _) => Value::Unknown(why.clone()),
        (Standing::Bounded { low, high, .. }, _) => {
            let ends = (*low, high.unwrap_or(f64::INFINITY));
            bounded_by(value, ends, unit, Basis::Bounds)
        }
        (
            Standing::Sound,
            Some(Ceiling { low: Some(low), high: Some(high), interval, visits, .. }),
        ) => {
            let basis = match interval {
                IntervalKind::Visits95 => Basis::Visits(*visits),
                IntervalKind::MinMax => Basis::Range(*visits),
                IntervalKind::WithinRun => Basis::WithinRun,
            };
            bounded_by(value, (*low, *high), unit, basis)
        }
        (Standing::Sound, _) => Value::Quantity(alone(value, unit)),
    }
}

/// `bounded` visits of its two cells have only bounds of the figure.
fn of_contrast(of: &Contrast, bounded: usize) -> Named {
    let ratio = match (of.ratio, of.low, of.high) {
        _ if bounded > 0 => {
            Value::Unknown(format!("of {bounded} visits only bounds of {} are known", of.figure))
        }
        (Some(ratio), Some(low), Some(high)) => Value::Quantity(Quantity::between(
            ratio,
            (low, high),
            Unit::Number,
            Basis::Visits(of.pairs),
        )),
        _ => Value::Unknown(format!(
            "a ratio takes three pairs of visits, and there are {}",
            of.pairs
        )),
    };
    let conclusion = match of.conclusion {
        Some(conclusion) => Value::Word([(conclusion.word().to_string(), 1)].into_map()),
        None => {
            Value::Unknown(format!("it takes three pairs of visits, and there are {}", of.pairs))
        }
    };
    [("ratio".to_string(), ratio), ("conclusion".to_string(), conclusion)].into_map()
}

/// A level against the same of the baseline, with the medians of both.
fn of_level(of: &Experiment, one: &LevelContrast) -> Named {
    let LevelContrast { load, contrast, .. } = one;
    let figure = contrast.figure;
    let is_bounded = |visit: &&VisitSeen| {
        let cells = [&contrast.cell, &contrast.baseline];
        let mut levels =
            visit.levels.iter().filter(|level| load.is_none_or(|load| level.load == load));
        cells.contains(&&visit.cell)
            && counts(of, &visit.cell, visit.block)
            && levels.any(|level| level.bounds.contains_key(&figure))
    };
    let seen = of.analysis.iter().flat_map(|analysis| &analysis.visits);
    let mut named = of_contrast(contrast, seen.filter(is_bounded).count());
    for (name, median) in [("base", one.base), ("changed", one.changed)] {
        if let Some(median) = median {
            let value = Quantity::alone(figure.unit().to_base(median), figure.unit().base());
            named.insert(name.to_string(), Value::Quantity(value));
        }
    }
    named
}

#[cfg(test)]
mod tests;
