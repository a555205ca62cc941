//! What the visits of an experiment say together: cells, contrasts, effects of factors, the floor,
//! trends, and outliers.
//!
//! In: one set of figures per visit, with what disturbed it. Out: the parts of the record that
//! follow from them. Never: a figure of a warm-up visit, or of a visit that a rule of the plan
//! excludes.

use crate::contrast::{Contrast, PAIRS_MIN, Rules, conclude};
pub use crate::visited::Visited;
use crate::visited::{End, Logs};
use crate::{contrast, course, effects, outliers};
use figures::visit::{bounds, figures, is_at_least};
use judge::{conditions, hosts, stats};
use model::analysis::{Analysis, Effect, Excluded, Floor, HostSeen, VisitSeen};
use model::experiment::{self, CellSummary, Conclusion, Design, Ended, Experiment};
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
    Found { summaries, contrasts: compared.contrasts, analysis }
}

/// An experiment with everything that follows from its visits; `runs` has the run of each visit, in
/// the same order. Earlier summaries, contrasts and analysis in the document are replaced.
pub fn analysed(of: Experiment, runs: &[Option<Run>]) -> Experiment {
    let visits: Vec<Visited<'_>> = of
        .cells
        .iter()
        .zip(runs)
        .filter_map(|(cell, run)| {
            let run = run.as_ref()?;
            let (figures, conditions) = (figures(&run.record), conditions(run));
            let (cell, block, bounds) = (&cell.name, cell.block, bounds(&run.record));
            Some(Visited { cell, block, figures, bounds, conditions })
        })
        .collect();
    let hosts: Vec<_> = runs.iter().flatten().flat_map(|run| hosts(&run.record)).collect();
    let found = analyse(of.design.as_ref(), &visits, &hosts);
    let (summaries, contrasts, mut analysis) = (found.summaries, found.contrasts, found.analysis);
    for (visit, run) in analysis.visits.iter_mut().zip(runs.iter().flatten()) {
        visit.wall = Some(run.record.verdict.wall.word().to_string());
        visit.rate_is_at_least = is_at_least(&run.record);
        visit.load = load(&run.record);
    }
    Experiment { summaries, contrasts, analysis: Some(analysis), ..of }
}

/// The load of the point that the figures of a visit are of.
pub(crate) fn load(of: &Record) -> Option<u64> {
    let (_, point) = best_point(of)?;
    let subscribers = point.events().map(|events| events.subscribers.asked);
    Some(subscribers.unwrap_or_else(|| point.load_size()))
}

/// Why an experiment may end after a block: everything its design asks for is known.
pub fn enough(design: &Design, visits: &[Visited<'_>], block: u32) -> Option<Ended> {
    let (counted, _) = counted(design, visits);
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
        let base = (design.baseline.as_str(), -1.0);
        let against = |cell: &str| logs.series(&[(cell, 1.0), base]);
        let twins = design.floor.as_ref().map(|twin| against(twin));
        let floor = twins.as_ref().and_then(|twins| floor(twins, figure));
        let limit = Limit::of(twins.as_deref(), floor);
        let cells: Vec<&String> = design.compared().collect();
        let effects = effects::of(design);
        let series = cells.iter().map(|cell| against(cell));
        let all: Vec<Vec<f64>> =
            series.chain(effects.iter().map(|effect| logs.series(&effect.weights))).collect();
        let contrasts: Vec<Option<Contrast>> =
            all.iter().map(|series| Contrast::of_logs(series)).collect();
        let concluded = conclude(&contrasts, rules);
        let of_cells = cells.iter().map(|cell| vec![(cell.as_str(), 1.0), base]);
        let of_effects = effects.iter().map(|effect| effect.weights.clone());
        let weights: Vec<_> = of_cells.chain(of_effects).collect();
        let concluded = match logs.is_known() {
            true => concluded,
            false => robust(concluded, &logs, &weights, rules),
        };
        let concluded = despite_zeros(concluded, &logs, &weights);
        let mut judged = all.iter().zip(contrasts).zip(concluded);
        for cell in cells {
            let Some(((series, contrast), concluded)) = judged.next() else { continue };
            let ratio = contrast.map(|one| one.ratio);
            let claim = limit.claim(ratio, concluded);
            compared.contrasts.push(experiment::Contrast {
                cell: cell.clone(),
                baseline: design.baseline.clone(),
                figure,
                pairs: series.len() as u64,
                ratio,
                low: contrast.map(|one| one.low),
                high: contrast.map(|one| one.high),
                conclusion: claim.conclusion,
                more_blocks: claim.more_blocks,
                below_floor: claim.below_floor,
            });
        }
        for (effect, ((series, contrast), concluded)) in effects.into_iter().zip(judged) {
            let ratio = contrast.map(|one| one.ratio);
            let claim = limit.claim(ratio, concluded);
            compared.effects.push(Effect {
                figure,
                levels: effect.levels,
                against: effect.against,
                aliases: effect.aliases,
                blocks: series.len() as u64,
                ratio,
                low: contrast.map(|one| one.low),
                high: contrast.map(|one| one.high),
                conclusion: claim.conclusion,
                more_blocks: claim.more_blocks,
            });
        }
        compared.floors.extend(floor);
    }
    compared
}

/// The conclusions that hold wherever the figures lie within what is known of them.
fn robust(
    concluded: Vec<Option<contrast::Conclusion>>,
    logs: &Logs<'_>,
    weights: &[Vec<(&str, f64)>],
    rules: Rules,
) -> Vec<Option<contrast::Conclusion>> {
    let at = |end: End| {
        let contrast = |weights: &Vec<(&str, f64)>| {
            let series = logs.at(end, weights);
            Contrast::of_logs(&series).filter(|_| series.iter().all(|log| log.is_finite()))
        };
        conclude(&weights.iter().map(contrast).collect::<Vec<_>>(), rules)
    };
    contrast::hold(concluded, &at(End::Lowest), &at(End::Highest))
}

/// The conclusions that visits whose figure is zero, which are in no pair, do not turn around. The
/// others are undecided, and more blocks do not help.
fn despite_zeros(
    concluded: Vec<Option<contrast::Conclusion>>,
    logs: &Logs<'_>,
    weights: &[Vec<(&str, f64)>],
) -> Vec<Option<contrast::Conclusion>> {
    let held = |(word, weights): (Option<contrast::Conclusion>, &Vec<(&str, f64)>)| {
        let lacks = |end: End| logs.lacks(end, weights);
        let is_turned = match word {
            Some(contrast::Conclusion::More) => lacks(End::Lowest),
            Some(contrast::Conclusion::Less) => lacks(End::Highest),
            None | Some(contrast::Conclusion::Same | contrast::Conclusion::Undecided { .. }) => {
                lacks(End::Lowest) || lacks(End::Highest)
            }
        };
        if is_turned { Some(contrast::Conclusion::Undecided { more: None }) } else { word }
    };
    concluded.into_iter().zip(weights).map(held).collect()
}

/// The variation of the host by itself: the baseline against itself.
fn floor(ratios: &[f64], figure: Figure) -> Option<Floor> {
    let contrast = Contrast::of_logs(ratios)?;
    let (conclusion, _) = conclude(&[Some(contrast)], Rules::once(0.0))[0]?.word();
    Some(Floor {
        figure,
        pairs: contrast.pairs as u64,
        ratio: contrast.ratio,
        low: contrast.low,
        high: contrast.high,
        share: contrast.high.max(1.0 / contrast.low) - 1.0,
        conclusion,
    })
}

/// Which differences may be claimed.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// All: the design has no floor.
    None,
    /// Those beyond this share, which the host varies by itself.
    Share(f64),
    /// None: what the host varies by itself is not known before this many more blocks.
    Unknown(u64),
}

/// What is claimed of a ratio.
struct Claim {
    conclusion: Option<Conclusion>,
    more_blocks: Option<u64>,
    below_floor: bool,
}

impl Limit {
    /// By the ratios of the baseline against itself, if the design has a floor.
    fn of(twins: Option<&[f64]>, floor: Option<Floor>) -> Self {
        match (twins, floor) {
            (_, Some(floor)) => Self::Share(floor.share),
            (Some(twins), None) => {
                Self::Unknown(PAIRS_MIN.saturating_sub(twins.len()).max(1) as u64)
            }
            (None, None) => Self::None,
        }
    }

    /// What was concluded of a ratio, as far as it may be claimed.
    fn claim(self, ratio: Option<f64>, concluded: Option<contrast::Conclusion>) -> Claim {
        let (conclusion, more_blocks) = concluded.map(|one| one.word()).unzip();
        let more_blocks = more_blocks.flatten();
        let is_claimed = matches!(conclusion, Some(Conclusion::More | Conclusion::Less));
        let is_within =
            |share: f64| ratio.is_some_and(|ratio| ratio.max(1.0 / ratio) - 1.0 <= share);
        let undecided = Some(Conclusion::Undecided);
        match self {
            Self::Share(share) if is_claimed && is_within(share) => {
                Claim { conclusion: undecided, more_blocks: None, below_floor: true }
            }
            Self::Unknown(more) if is_claimed => {
                Claim { conclusion: undecided, more_blocks: Some(more), below_floor: false }
            }
            _ => Claim { conclusion, more_blocks, below_floor: false },
        }
    }
}

#[cfg(test)]
mod tests;
