//! Compares two experiments of different days, cell by cell.
//!
//! In: two experiments with the figures of their visits. Out: what differs between them, ratios
//! with intervals, and whether bounds of a change hold. Never: pairs. A block of one day has
//! nothing in common with the block of the same number on another day, so the visits of a cell are
//! two independent groups, and Welch's t compares their logarithms. Variation from day to day, but
//! not within a day, is in no interval: two days cannot show it. Where only bounds of a figure are
//! known, what does not hold at both ends is undecided. A rate of zero has no logarithm: it counts
//! as less than any other, so nothing is concluded from the other visits that it could turn around,
//! and a side whose median is zero is less.

use crate::contrast::{Conclusion, Contrast, Rules, conclude, hold, holm};
use crate::experiment::load as load_of;
use crate::settings::{cut, differences, flatten};
use crate::visited::ends_of;
use figures::visit::{bounds as bounds_of, figures, is_at_least};
use judge::{stats, steady};
use model::across::{ACROSS_SCHEMA, Across, AcrossCell, Bound, Decided, Outcome};
use model::analysis::{HostSeen, VisitSeen};
use model::experiment::{CellResult, Experiment, Tuned};
use model::figure::Figure;
use model::load::Question;
use model::objective::Relation;
use model::option::{self, About};
use model::order::OrderBy as _;
use model::run::Record;
use model::visit::best_point;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One-sided risk of a bound, equal to that of a whole interval of 95 %.
const RISK: f64 = 0.025;
/// What counts as the same if no design says so.
const SAME_WITHIN: f64 = 0.02;
/// Loads that differ by less than this factor are one.
const LOAD_WITHIN: f64 = 1.01;

/// Whose rate a plan compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// That of the server: a generator at its limit shows a lower bound of it.
    Server,
    /// That of the generator: cells differ in how their load is made.
    Generator,
}

impl Subject {
    fn of(of: &Experiment) -> Self {
        // How a load is made, and not what is asked for.
        let is_how = |word: &&String| {
            option::typed(word).is_some_and(|facts| facts.about == About::Generator)
        };
        let how = |cell: &CellResult| -> Vec<String> {
            cell.command.iter().filter(is_how).cloned().collect()
        };
        let ways: BTreeSet<Vec<String>> = of.cells.iter().map(how).collect();
        if ways.len() > 1 { Self::Generator } else { Self::Server }
    }

    /// Lowest and highest value of a figure of which only bounds are known.
    fn bounds(self, visit: &VisitSeen, figure: Figure) -> Option<(f64, Option<f64>)> {
        let bounds = visit.bounds.get(&figure).copied();
        let low = bounds.map(|(low, _)| low).or(visit.figures.get(&figure).copied());
        let is_at_least = self == Self::Server && figure == Figure::Rate && visit.rate_is_at_least;
        if is_at_least { low.map(|low| (low, None)) } else { bounds }
    }
}

/// Logarithms of a figure of the visits of a cell that count, with the least and the most that each
/// can be.
#[derive(Debug, Clone, Default)]
struct Group {
    /// Visits with a valid figure; that of some may be zero, which has no logarithm.
    visits: usize,
    /// Those whose figure is known to be zero. It is minus infinity among the lowest, and not among
    /// the highest: without it what is left can only be more.
    zeros: usize,
    logs: Vec<f64>,
    lowest: Vec<f64>,
    highest: Vec<f64>,
    /// The loads that a latency or a CPU time is of, as far as they are known.
    loads: Vec<u64>,
}

impl Group {
    /// Adds a visit by its figure and its bounds, as far as it has them.
    fn add(&mut self, value: Option<f64>, bounds: Option<(f64, Option<f64>)>) {
        let log = value.filter(|value| *value > 0.0).map(f64::ln);
        self.visits += usize::from(value.is_some());
        self.logs.extend(log);
        match (bounds, log) {
            (Some(bounds), _) => {
                let (low, high) = ends_of(value.unwrap_or(bounds.0), bounds);
                self.lowest.push(low);
                self.highest.push(high);
            }
            (None, Some(log)) => {
                self.lowest.push(log);
                self.highest.push(log);
            }
            (None, None) => {
                self.zeros += 1;
                self.lowest.push(f64::NEG_INFINITY);
            }
        }
    }

    /// Whether the median over the visits is zero.
    fn is_nothing(&self) -> bool {
        2 * self.zeros > self.visits
    }

    /// Visits whose figure is zero, or at least zero.
    fn without_log(&self) -> usize {
        self.visits - self.logs.len()
    }

    /// Geometric mean.
    fn mean(&self) -> f64 {
        match self.without_log() {
            0 => stats::mean(&self.logs).map_or(f64::NAN, f64::exp),
            _ => 0.0,
        }
    }
}

/// Whether loads differ by so little that latency and CPU time at them are the same figure.
fn are_one_load<'a>(mut loads: impl Iterator<Item = &'a u64>) -> bool {
    let Some(first) = loads.next() else { return true };
    let (least, most) =
        loads.fold((first, first), |(least, most), load| (least.min(load), most.max(load)));
    *most as f64 <= *least as f64 * LOAD_WITHIN
}

/// The side whose median is zero, when that of the other is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outage {
    OfA,
    OfB,
}

type Groups = BTreeMap<(String, Figure), Group>;

/// A figure of a cell of B against that of A.
#[derive(Debug, Clone, Copy)]
struct Ratio {
    /// By the values.
    contrast: Option<Contrast>,
    /// The least that it can be; none also when there is no such end.
    lowest: Option<Contrast>,
    /// The most.
    highest: Option<Contrast>,
    /// Whether all values are known and above zero, and not only bounds of them.
    is_known: bool,
    /// Whether a value is zero.
    has_zeros: bool,
    /// Whether all visits are of the same load, as far as that matters for the figure.
    is_of_one_load: bool,
    outage: Option<Outage>,
}

impl Ratio {
    fn of(b: &Group, a: &Group) -> Self {
        Self::by(b, a, Contrast::unpaired)
    }

    /// The ratio of two groups, with a way to compare logarithms.
    fn by(b: &Group, a: &Group, unpaired: impl Fn(&[f64], &[f64]) -> Option<Contrast>) -> Self {
        let unpaired = |b: &[f64], a: &[f64]| {
            let are_finite = b.iter().chain(a).all(|log| log.is_finite());
            unpaired(b, a).filter(|_| are_finite)
        };
        let is_of_one_load = are_one_load(a.loads.iter().chain(&b.loads));
        Self {
            contrast: unpaired(&b.logs, &a.logs),
            lowest: unpaired(&b.lowest, &a.highest).filter(|_| is_of_one_load),
            highest: unpaired(&b.highest, &a.lowest).filter(|_| is_of_one_load),
            is_known: is_of_one_load && [a, b].iter().all(|one| one.lowest == one.highest),
            is_of_one_load,
            has_zeros: a.without_log() + b.without_log() > 0,
            outage: match (a.is_nothing(), b.is_nothing()) {
                (true, false) if b.visits > 0 => Some(Outage::OfA),
                (false, true) if a.visits > 0 => Some(Outage::OfB),
                _ => None,
            },
        }
    }

    /// The contrast that stands for all visits.
    fn whole(&self) -> Option<Contrast> {
        self.contrast.filter(|_| !self.has_zeros)
    }

    /// The conclusion, by what was concluded from the visits above zero.
    fn concluded(&self, of_others: Option<Conclusion>) -> Option<Conclusion> {
        let is_decided = !matches!(of_others, None | Some(Conclusion::Undecided { .. }));
        match self.outage {
            Some(Outage::OfA) => Some(Conclusion::More),
            Some(Outage::OfB) => Some(Conclusion::Less),
            None if self.has_zeros && !is_decided => Some(Conclusion::Undecided { more: None }),
            None if self.is_of_one_load => of_others,
            None => of_others.map(|_| Conclusion::Undecided { more: None }),
        }
    }

    /// Chance of values this far below a bound of the ratio if it is at the bound or above,
    /// wherever they are within what is known of them.
    fn p_below(&self, bound: f64) -> Option<f64> {
        match self.outage {
            Some(Outage::OfB) => Some(0.0),
            _ => Some(self.highest?.p_below(bound)),
        }
    }

    /// Chance of values this far above a bound of the ratio if it is at the bound or below,
    /// wherever they are within what is known of them.
    fn p_above(&self, bound: f64) -> Option<f64> {
        match self.outage {
            Some(Outage::OfA) => Some(0.0),
            _ => Some(self.lowest?.p_above(bound)),
        }
    }
}

/// Compares B with A.
pub fn across(a: &Experiment, b: &Experiment, bounds: &[Bound]) -> Across {
    let same_within = a.design.as_ref().map_or(SAME_WITHIN, |design| design.same_within);
    let (of_a, of_b) = (groups(a), groups(b));
    let has = |of: &Groups, key: &(String, Figure)| of.get(key).is_some_and(|one| one.visits > 0);
    let both: Vec<&(String, Figure)> =
        of_a.keys().filter(|&key| has(&of_a, key) && has(&of_b, key)).collect();
    let names = |experiment: &Experiment| -> BTreeSet<String> {
        experiment.cells.iter().map(|cell| cell.name.clone()).collect()
    };
    let (names_a, names_b) = (names(a), names(b));
    let ratio = |key: &(String, Figure)| Ratio::of(&of_b[key], &of_a[key]);
    let mut cells = Vec::new();
    for figure in both.iter().map(|(_, figure)| *figure).collect::<BTreeSet<_>>() {
        let family: Vec<&(String, Figure)> =
            both.iter().filter(|(_, other)| *other == figure).copied().collect();
        let ratios: Vec<Ratio> = family.iter().map(|key| ratio(key)).collect();
        let by = |pick: fn(&Ratio) -> Option<Contrast>| {
            conclude(&ratios.iter().map(pick).collect::<Vec<_>>(), Rules::once(same_within))
        };
        let concluded = hold(by(|one| one.contrast), &by(|one| one.lowest), &by(|one| one.highest));
        for ((key, ratio), concluded) in family.into_iter().zip(ratios).zip(concluded) {
            let concluded = ratio.concluded(concluded);
            let (conclusion, more_visits) = concluded.map(|one| one.word()).unzip();
            let (a, b, contrast) = (&of_a[key], &of_b[key], ratio.whole());
            cells.push(AcrossCell {
                cell: key.0.clone(),
                figure,
                visits: (a.visits as u64, b.visits as u64),
                means: (a.mean(), b.mean()),
                ratio: contrast.map(|one| one.ratio),
                low: contrast.map(|one| one.low),
                high: contrast.map(|one| one.high),
                conclusion,
                more_visits: more_visits.flatten(),
            });
        }
    }
    let order = |cell: &AcrossCell| a.cells.iter().position(|one| one.name == cell.cell);
    cells.order_by_key(|cell| (order(cell), cell.figure));
    Across {
        schema: ACROSS_SCHEMA.to_string(),
        a: a.id.clone(),
        b: b.id.clone(),
        warnings: [
            warnings(a, b),
            bounded(a, b, bounds),
            missing(a, &of_a, "A"),
            missing(b, &of_b, "B"),
            at_other_loads(a, b),
        ]
        .concat(),
        settings: differences(&flat(a), &flat(b)),
        same_within,
        cells,
        only_a: names_a.difference(&names_b).cloned().collect(),
        only_b: names_b.difference(&names_a).cloned().collect(),
        bounds: decide(bounds, &names_a, |key| Some(Ratio::of(of_b.get(key)?, of_a.get(key)?))),
    }
}

/// The visits of the blocks, without those that a rule of the plan left out.
fn counted(of: &Experiment) -> Vec<&VisitSeen> {
    let Some(analysis) = &of.analysis else { return Vec::new() };
    let is_counted = |visit: &&VisitSeen| {
        let mut excluded = analysis.excluded.iter();
        let is_out = excluded.any(|one| one.cell == visit.cell && Some(one.block) == visit.block);
        visit.block != Some(0) && !is_out
    };
    analysis.visits.iter().filter(is_counted).collect()
}

fn groups(of: &Experiment) -> Groups {
    let (mut groups, subject) = (Groups::new(), Subject::of(of));
    for visit in counted(of) {
        let figures: BTreeSet<Figure> =
            visit.figures.keys().chain(visit.bounds.keys()).copied().collect();
        for figure in figures {
            let group = groups.entry((visit.cell.clone(), figure)).or_default();
            group.add(visit.figures.get(&figure).copied(), subject.bounds(visit, figure));
            group.loads.extend(visit.load.filter(|_| figure != Figure::Rate));
        }
    }
    groups
}

/// Every bound in every cell of A. All bounds share the risk of a false outcome.
fn decide(
    bounds: &[Bound],
    cells: &BTreeSet<String>,
    ratio: impl Fn(&(String, Figure)) -> Option<Ratio>,
) -> Vec<Decided> {
    let asked = || bounds.iter().flat_map(|bound| cells.iter().map(move |cell| (bound, cell)));
    let ratios: Vec<Option<Ratio>> =
        asked().map(|(bound, cell)| ratio(&(cell.clone(), bound.figure))).collect();
    let chances = |wanted: Relation| -> Vec<f64> {
        let chance = |((bound, _), one): ((&Bound, &String), &Option<Ratio>)| {
            let edge = 1.0 + bound.change;
            let chance = one.and_then(|one| match bound.fails == wanted {
                true => one.p_below(edge),
                false => one.p_above(edge),
            });
            chance.unwrap_or(1.0)
        };
        asked().zip(&ratios).map(chance).collect()
    };
    let failed = holm(&chances(Relation::Below), RISK);
    let holds = holm(&chances(Relation::Above), RISK);
    let outcomes: Vec<Outcome> = failed
        .iter()
        .zip(&holds)
        .map(|(failed, holds)| match (failed, holds) {
            (true, _) => Outcome::Failed,
            (_, true) => Outcome::Holds,
            _ => Outcome::Undecided,
        })
        .collect();
    let open = outcomes.iter().filter(|outcome| **outcome == Outcome::Undecided).count().max(1);
    let decided = asked().zip(outcomes).zip(&ratios).map(|(((bound, cell), outcome), one)| {
        let ratio = one.and_then(|one| one.whole()).map(|one| (one.ratio, one.low, one.high));
        // Where only bounds are known, more visits do not help.
        let one = one.filter(|one| one.is_known).and_then(|one| one.contrast);
        let apart = one.map(|one| (one, (one.ratio.ln() - bound.change.ln_1p()).abs()));
        let more = apart.filter(|_| outcome == Outcome::Undecided).and_then(|(one, apart)| {
            let needed = one.until(apart, RISK / open as f64)?;
            Some(needed.saturating_sub(one.pairs).max(1) as u64)
        });
        let (figure, cell) = (bound.figure, cell.clone());
        Decided { bound: bound.to_string(), figure, cell, outcome, more_visits: more, ratio }
    });
    decided.collect()
}

fn warnings(a: &Experiment, b: &Experiment) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, of) in [("A", a), ("B", b)] {
        let Some(analysis) = &of.analysis else { continue };
        if analysis.visits.is_empty() {
            warnings.push(format!("no visit of {name} was measured"));
        } else if analysis.visits.iter().all(|visit| visit.block.is_none()) {
            warnings.push(format!("{name} visited each cell once, without blocks"));
        }
        if let Some(trend) = analysis.course.trend.filter(|trend| trend.is_seen) {
            let change = trend.change * 100.0;
            warnings
                .push(format!("the rate of {name} had a trend over its blocks, {change:+.1} %"));
        }
        if of.failed() > 0 {
            warnings.push(format!("{} visits of {name} failed", of.failed()));
        }
    }
    let hosts = |of: &Experiment| of.analysis.as_ref().map(|analysis| analysis.hosts.clone());
    // Without a measured visit, the hosts are not known.
    let is_unmeasured =
        |of: &Experiment| of.analysis.as_ref().is_some_and(|analysis| analysis.visits.is_empty());
    if !is_unmeasured(a) && !is_unmeasured(b) && hosts(a) != hosts(b) {
        warnings.push("the hosts or their kernels differ".to_string());
    }
    if a.version != b.version {
        warnings.push("the versions of ceiling differ".to_string());
    }
    warnings
}

/// The figures of which only bounds are known, of those that are compared everywhere or asked for.
fn bounded(a: &Experiment, b: &Experiment, asked: &[Bound]) -> Vec<String> {
    let asked = asked.iter().map(|bound| bound.figure);
    let figures: BTreeSet<Figure> = Figure::COMPARED.into_iter().chain(asked).collect();
    let mut sentences = Vec::new();
    for (name, of) in [("A", a), ("B", b)] {
        let visits = || of.analysis.iter().flat_map(|analysis| &analysis.visits);
        let subject = Subject::of(of);
        for figure in figures.iter().copied() {
            let is_bounded = |visit: &&VisitSeen| subject.bounds(visit, figure).is_some();
            let count = visits().filter(is_bounded).count();
            if count == 0 {
                continue;
            }
            sentences.push(format!(
                "only bounds of {} are known in {count} of {} visits of {name}, so what does not \
                 hold at both ends is undecided",
                figure,
                visits().count(),
            ));
        }
    }
    sentences
}

/// Visits without a good response, and visits without a rate, cell by cell.
fn missing(of: &Experiment, groups: &Groups, name: &str) -> Vec<String> {
    let (mut sentences, figure, visits) = (Vec::new(), Figure::Rate, counted(of));
    let cells: BTreeSet<&String> = visits.iter().map(|visit| &visit.cell).collect();
    let without = Group::default();
    for cell in cells {
        let all = visits.iter().filter(|visit| visit.cell == *cell).count();
        let group = groups.get(&(cell.clone(), figure)).unwrap_or(&without);
        if group.without_log() > 0 {
            let others = match group.logs.is_empty() {
                true => "",
                false => {
                    ": nothing is concluded from the other visits that these could turn around"
                }
            };
            sentences.push(format!(
                "{} is zero in {} of {all} visits of {cell} in {name}, which had no good \
                 response{others}",
                figure,
                group.without_log(),
            ));
        }
        let unknown = all - group.lowest.len();
        if unknown > 0 {
            sentences.push(format!(
                "{} is not known in {unknown} of {all} visits of {cell} in {name}, which are left \
                 out",
                figure,
            ));
        }
    }
    sentences
}

/// Cells whose latency and CPU time are of different loads.
fn at_other_loads(a: &Experiment, b: &Experiment) -> Vec<String> {
    let by_cell = |of: &Experiment| {
        let mut loads: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for visit in counted(of) {
            loads.entry(visit.cell.clone()).or_default().extend(visit.load);
        }
        loads
    };
    let (of_a, of_b) = (by_cell(a), by_cell(b));
    let both = of_a.iter().filter_map(|(cell, a)| Some((cell, a, of_b.get(cell)?)));
    let differ = both.filter(|(_, a, b)| !are_one_load(a.iter().chain(*b)));
    let range = |loads: &[u64]| match (loads.iter().min(), loads.iter().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "?".to_string(),
    };
    let sentences = |(cell, a, b): (&String, &Vec<u64>, &Vec<u64>)| {
        format!(
            "{cell} has its best point at a load of {} in A and of {} in B: changes of its \
             latency and CPU time are undecided",
            range(a),
            range(b)
        )
    };
    differ.map(sentences).collect()
}

fn flat(of: &Experiment) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    settings.insert("version".to_string(), of.version.clone());
    for host in of.analysis.iter().flat_map(|analysis| &analysis.hosts) {
        let HostSeen { hostname, kernel, cpu_model, cpus, .. } = host;
        let value = json!({"name": hostname, "kernel": kernel, "CPU": cpu_model, "CPUs": cpus});
        flatten(&format!("host.{}", host.side), &value, &mut settings);
    }
    if let Some(design) = &of.design {
        let mut value = serde_json::to_value(design).unwrap_or(Value::Null);
        // The order differs with every seed, and cells are compared by name.
        for no in ["seed", "cells", "factors"] {
            value.as_object_mut().map(|design| design.remove(no));
        }
        flatten("design", &value, &mut settings);
    }
    for cell in &of.cells {
        let name = &cell.name;
        settings.insert(format!("{name}.server"), cut(&server(cell)));
        settings.insert(format!("{name}.load"), cut(&load(cell)));
        for Tuned { host, row } in &cell.tuned {
            let wanted = row.wanted.clone().unwrap_or_default();
            settings.insert(format!("{name}.{host} {} {}", row.knob, row.place), wanted);
        }
    }
    settings.retain(|_, value| !value.is_empty());
    settings
}

/// The load of a cell without what differs from visit to visit: the port of a server that was
/// started, and its process id.
fn load(cell: &CellResult) -> String {
    let word = |word: &String| match word.split_once("://") {
        Some((scheme, rest)) if !cell.server.is_empty() => {
            let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
            format!("{scheme}://{host}{path}")
        }
        _ => word.clone(),
    };
    let words = cell.command.iter().filter(|word| !word.starts_with("--server-pid="));
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// The command line of a server without the ports of services, which differ from start to start.
fn server(cell: &CellResult) -> String {
    let word = |word: &String| match word.split_once("127.0.0.1:") {
        Some((before, rest)) => {
            format!(
                "{before}127.0.0.1{}",
                rest.trim_start_matches(|one: char| one.is_ascii_digit())
            )
        }
        None => word.clone(),
    };
    cell.server.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// How much one visit of a cell differs from another of the same cell, as the standard deviation of
/// the logarithm of a figure: medians over the cells of this repository's journal with at least
/// three visits, 78 to 106 of them. Of other figures the journal shows nothing.
fn from_visit_to_visit(figure: Figure) -> Option<f64> {
    match figure {
        Figure::Rate => Some(0.13),
        Figure::P50 => Some(0.24),
        Figure::P99 => Some(0.26),
        Figure::ClientCpu | Figure::ServerCpu => Some(0.11),
        _ => None,
    }
}

/// Bounds of a change between two runs, which are one visit each. Neither shows how much another
/// visit would differ, so what other visits showed is assumed, on top of what the rate varied in
/// its own window: only what is far beyond a bound is decided.
pub fn of_runs(a: &Record, b: &Record, bounds: &[Bound]) -> Vec<Decided> {
    let load = best_point(b).or(best_point(a)).map(|(_, point)| point.load_phrase());
    let cells = BTreeSet::from([load.unwrap_or_else(|| "no load".to_string())]);
    decide(bounds, &cells, |(_, figure)| {
        let (of_a, of_b) = (group_of(a, *figure), group_of(b, *figure));
        let within = within(a, *figure).powi(2) + within(b, *figure).powi(2);
        let error = (within + 2.0 * from_visit_to_visit(*figure)?.powi(2)).sqrt();
        let one = |b: &[f64], a: &[f64]| Some(Contrast::of_one(b.first()? - a.first()?, error));
        (of_a.visits > 0 && of_b.visits > 0).then(|| Ratio::by(&of_b, &of_a, one))
    })
}

/// The figure of the one visit that a run is.
fn group_of(of: &Record, figure: Figure) -> Group {
    let mut group = Group::default();
    let is_lower = figure == Figure::Rate && is_at_least(of);
    let (value, known) = (figures(of).get(&figure).copied(), bounds_of(of).get(&figure).copied());
    let low = known.map(|(low, _)| low).or(value);
    let known = if is_lower { low.map(|low| (low, None)) } else { known };
    if value.is_some() || known.is_some() {
        group.add(value, known);
    }
    // A ramp and a search find the load of their rate themselves.
    let is_found = matches!(of.trial.question, Question::Ramp) || of.search.is_some();
    group.loads.extend(load_of(of).filter(|_| figure != Figure::Rate || !is_found));
    group
}

/// The standard error of a figure by its variation inside the window, as a share of it. Only rates
/// are counted in parts.
fn within(of: &Record, figure: Figure) -> f64 {
    let point = best_point(of).map(|(_, point)| point).filter(|_| figure == Figure::Rate);
    let rates = point.map(steady::independent_rates_of).unwrap_or_default();
    stats::variation(&rates).map_or(0.0, |share| share / (rates.len() as f64).sqrt())
}

#[cfg(test)]
mod tests;
