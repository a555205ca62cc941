//! What the visits of an experiment say together: cells, contrasts, effects of factors, the floor,
//! trends, and outliers.
//!
//! In: one set of figures per visit, with what disturbed it. Out: the parts of the record that
//! follow from them. Never: a figure of a warm-up visit, or of a visit that a rule of the plan
//! excludes.

use crate::comparison::{Comparison, floor, judged};
use crate::contrast::{Contrast, Rules};
pub use crate::visited::Visited;
use crate::visited::{End, Logs};
use crate::{course, effects, levels, outliers};
use figures::visit;
use figures::visit::{bounds, figures, is_at_least};
use judge::observe::Raw;
use judge::{conditions, hosts, stats};
use model::analysis::{Analysis, Conditions, Effect, Excluded, Floor, HostSeen, VisitSeen};
use model::experiment::{self, CellSummary, Conclusion, Design, Ended, Experiment, LevelContrast};
use model::figure::Figure;
use model::run::{Record, Run};
use model::visit::best_point;
use std::collections::{BTreeMap, BTreeSet};

/// What follows from all visits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Each figure of each cell.
    pub summaries: Vec<CellSummary>,
    /// Each cell against the baseline.
    pub contrasts: Vec<experiment::Contrast>,
    /// Each level of each cell against the same of the baseline.
    pub levels: Vec<LevelContrast>,
    /// The rest.
    pub analysis: Analysis,
}

/// Everything that follows from the visits of an experiment, in their order. `block` is the last
/// block that was started.
pub fn analyse(design: Option<&Design>, visits: &[Visited<'_>], hosts: &[HostSeen]) -> Found {
    let seen = |visit: &Visited<'_>| VisitSeen {
        cell: visit.cell.to_string(),
        block: visit.block,
        figures: visit.figures.clone(),
        bounds: visit.bounds.clone(),
        rate_is_at_least: false,
        load: None,
        levels: visit.levels.clone(),
        conditions: visit.conditions.clone(),
        wall: None,
    };
    let mut hosts = hosts.to_vec();
    hosts.sort();
    hosts.dedup();
    let whole =
        Analysis { hosts, visits: visits.iter().map(seen).collect(), ..Analysis::default() };
    let Some(design) = design else { return Found { analysis: whole, ..Found::default() } };
    let (counted, excluded) = counted(design, visits);
    let counted = with_only(counted, |figure| is_shown(design, figure));
    let block = counted.iter().filter_map(|visit| visit.block).max().unwrap_or(0);
    let compared = compare(design, &counted, Rules::of(design, block));
    let analysis = Analysis {
        floors: compared.floors,
        effects: compared.effects,
        course: course::of(design, &counted),
        outliers: outliers::of(&counted),
        excluded,
        ..whole
    };
    let summaries = summaries(design, &counted);
    let levels = levels::of(design, &counted, Rules::of(design, block));
    Found { summaries, contrasts: compared.contrasts, levels, analysis }
}

/// The run of a visit.
#[derive(Debug, Clone)]
pub struct OfVisit<'a> {
    /// Its record.
    pub record: &'a Record,
    /// What may have disturbed it.
    pub conditions: Conditions,
}

impl<'a> OfVisit<'a> {
    /// A run that was read with its readings.
    pub fn whole(run: &'a Run) -> Self {
        let (record, raw) = (&run.record, Raw::from(run));
        let conditions = conditions(record, |window_ns| raw.observed_in(record, window_ns));
        Self { record, conditions }
    }
}

/// An experiment with everything that follows from its visits; `runs` has the run of each visit, in
/// the same order. Earlier summaries, contrasts and analysis in the document are replaced.
pub fn analysed(of: Experiment, runs: &[Option<OfVisit<'_>>]) -> Experiment {
    let visits: Vec<Visited<'_>> = of
        .cells
        .iter()
        .zip(runs)
        .filter_map(|(cell, run)| {
            let OfVisit { record, conditions } = run.clone()?;
            let (figures, levels) = (figures(record), visit::levels(record));
            let (cell, block, bounds) = (&cell.name, cell.block, bounds(record));
            Some(Visited { cell, block, figures, bounds, levels, conditions })
        })
        .collect();
    let hosts: Vec<_> = runs.iter().flatten().flat_map(|run| hosts(run.record)).collect();
    let found = analyse(of.design.as_ref(), &visits, &hosts);
    let Found { summaries, contrasts, levels, mut analysis } = found;
    for (visit, run) in analysis.visits.iter_mut().zip(runs.iter().flatten()) {
        visit.wall = Some(run.record.verdict.wall.word().to_string());
        visit.rate_is_at_least = is_at_least(run.record);
        visit.load = load(run.record);
    }
    Experiment { summaries, contrasts, levels, analysis: Some(analysis), ..of }
}

/// Each cell against the baseline by those figures of the visits that the document has no contrasts
/// of. They follow from the figures of its visits, and the risk of one figure does not depend on
/// which others are compared, so the document keeps only those that its tables show and the one
/// that the plan asks about.
pub fn further(of: &Experiment) -> Vec<experiment::Contrast> {
    let (Some(design), Some(analysis)) = (&of.design, &of.analysis) else { return Vec::new() };
    let visits = analysis.visits.iter().map(|seen| Visited {
        cell: &seen.cell,
        block: seen.block,
        figures: seen.figures.clone(),
        bounds: seen.bounds.clone(),
        conditions: seen.conditions.clone(),
        ..Visited::default()
    });
    let visits: Vec<Visited<'_>> = visits.collect();
    let (counted, _) = counted(design, &visits);
    let is_there = |figure| of.contrasts.iter().any(|one| one.figure == figure);
    let counted = with_only(counted, |figure| !is_there(figure));
    let block = counted.iter().filter_map(|visit| visit.block).max().unwrap_or(0);
    compare(design, &counted, Rules::of(design, block)).contrasts
}

/// Whether the document has contrasts of a figure: its tables show them, or its plan asks.
fn is_shown(design: &Design, figure: Figure) -> bool {
    Figure::COMPARED.contains(&figure) || figure == design.figure
}

/// The visits with some of their figures.
fn with_only<'a>(mut visits: Vec<Visited<'a>>, keep: impl Fn(Figure) -> bool) -> Vec<Visited<'a>> {
    for visit in &mut visits {
        visit.figures.retain(|figure, _| keep(*figure));
    }
    visits
}

/// The load of the point that the figures of a visit are of.
pub(crate) fn load(of: &Record) -> Option<u64> {
    best_point(of).map(|(_, point)| point.asked_size())
}

/// Why an experiment may end after a block: everything its design asks for is known.
pub fn enough(design: &Design, visits: &[Visited<'_>], block: u32) -> Option<Ended> {
    let (counted, _) = counted(design, visits);
    let counted = with_only(counted, |figure| figure == design.figure);
    let rules = Rules::of(design, block);
    let contrasts = compare(design, &counted, rules).contrasts;
    let main: Vec<_> = contrasts.iter().filter(|one| one.figure == design.figure).collect();
    let is_decided = |one: &&experiment::Contrast| {
        one.conclusion.is_some_and(|word| word != Conclusion::Undecided)
    };
    if main.is_empty() {
        return None;
    }
    if design.until_decided && main.iter().all(is_decided) {
        return Some(Ended::Decided);
    }
    let share = design.precision?;
    let logs = Logs::of(&counted, design.figure);
    let is_narrow = |one: &&experiment::Contrast| {
        let weights = [(one.cell.as_str(), 1.0), (design.baseline.as_str(), -1.0)];
        let is_whole = [End::Lowest, End::Highest].iter().all(|end| !logs.lacks(*end, &weights));
        let contrast = Contrast::of_logs(&logs.series(&weights));
        is_whole && contrast.is_some_and(|contrast| rules.half(&contrast) <= share)
    };
    main.iter().all(is_narrow).then_some(Ended::Precise)
}

/// The visits that count, and those that a rule of the plan excludes.
fn counted<'a>(design: &Design, visits: &[Visited<'a>]) -> (Vec<Visited<'a>>, Vec<Excluded>) {
    let (mut kept, mut excluded) = (Vec::new(), Vec::new());
    for visit in visits {
        let Some(block) = visit.block.filter(|block| *block > 0) else { continue };
        let whys: Vec<String> =
            design.exclude.iter().filter_map(|rule| rule.hits(&visit.conditions)).collect();
        match whys.is_empty() {
            true => kept.push(visit.clone()),
            false => {
                let (cell, why) = (visit.cell.to_string(), whys.join("; "));
                excluded.push(Excluded { cell, block, why });
            }
        }
    }
    (kept, excluded)
}

/// Each figure of each cell over all its visits, cells in the order of the plan.
fn summaries(design: &Design, visits: &[Visited<'_>]) -> Vec<CellSummary> {
    let mut summaries = Vec::new();
    for cell in &design.cells {
        let mut values: BTreeMap<Figure, Vec<f64>> = BTreeMap::new();
        for visit in visits.iter().filter(|visit| visit.cell == cell) {
            for (figure, value) in &visit.figures {
                values.entry(*figure).or_default().push(*value);
            }
        }
        summaries.extend(values.into_iter().filter_map(|(figure, values)| {
            let interval = stats::median_interval(&values);
            Some(CellSummary {
                cell: cell.clone(),
                figure,
                visits: values.len() as u64,
                median: stats::median(&values)?,
                low: interval.map(|interval| interval.0),
                high: interval.map(|interval| interval.1),
            })
        }));
    }
    summaries
}

/// The comparisons of one look.
#[derive(Debug, Clone, Default, PartialEq)]
struct Compared {
    contrasts: Vec<experiment::Contrast>,
    effects: Vec<Effect>,
    floors: Vec<Floor>,
}

/// Every cell against the baseline, and the effects of the factors, figure by figure. All
/// comparisons of one figure are a family that shares its risk; the floor is not part of it.
fn compare(design: &Design, visits: &[Visited<'_>], rules: Rules) -> Compared {
    let figures: BTreeSet<Figure> =
        visits.iter().flat_map(|visit| visit.figures.keys().copied()).collect();
    let mut compared = Compared::default();
    for figure in figures {
        let logs = Logs::of(visits, figure);
        let cells: Vec<&String> = design.compared().collect();
        let effects = effects::of(design);
        let of_cells = cells.iter().map(|cell| Comparison::against(design, &logs, cell));
        let weights = effects.iter().map(|effect| effect.weights.clone());
        let of_effects = weights.map(|weights| Comparison { cell: "", logs: &logs, weights });
        let all: Vec<Comparison<'_>> = of_cells.chain(of_effects).collect();
        let floor = floor(design, &logs, figure);
        let mut judged = judged(design, &all, figure, rules).into_iter();
        compared.contrasts.extend(judged.by_ref().take(cells.len()));
        for (effect, judged) in effects.into_iter().zip(judged) {
            compared.effects.push(Effect {
                figure,
                levels: effect.levels,
                against: effect.against,
                aliases: effect.aliases,
                blocks: judged.pairs,
                ratio: judged.ratio,
                low: judged.low,
                high: judged.high,
                conclusion: judged.conclusion,
                more_blocks: judged.more_blocks,
            });
        }
        compared.floors.extend(floor);
    }
    compared
}

#[cfg(test)]
mod tests;
