//! Levels of cells against the same levels of the baseline, and all of them together.
//!
//! A change may help at few connections and cost at many: the best level of a visit shows neither.
//! In: visits with several levels. Out: a comparison for each level of each cell and one over all
//! levels, figure by figure; all of a figure share the risk of a false difference.

use crate::comparison::{Comparison, judged};
use crate::contrast::Rules;
use crate::visited::{Logs, Visited};
use judge::stats;
use model::experiment::{Design, LevelContrast};
use model::figure::Figure;
use std::collections::BTreeSet;

/// Every level that a visit has, in order of figures, cells and loads; a cell's levels together
/// come last.
pub(crate) fn of(design: &Design, visits: &[Visited<'_>], rules: Rules) -> Vec<LevelContrast> {
    let loads = visits.iter().flat_map(|visit| visit.levels.iter().map(|level| level.load));
    let loads: BTreeSet<u64> = loads.collect();
    let at: Vec<(u64, Vec<Visited<'_>>)> =
        loads.into_iter().map(|load| (load, at(visits, load))).collect();
    Figure::OF_LEVELS.into_iter().flat_map(|figure| of_figure(design, &at, figure, rules)).collect()
}

/// The visits that have this level, by its figures.
fn at<'a>(visits: &[Visited<'a>], load: u64) -> Vec<Visited<'a>> {
    let at = |visit: &Visited<'a>| {
        let level = visit.levels.iter().find(|level| level.load == load)?;
        let (figures, bounds) = (level.figures.clone(), level.bounds.clone());
        let conditions = visit.conditions.clone();
        Some(Visited { figures, bounds, conditions, levels: Vec::new(), ..*visit })
    };
    visits.iter().filter_map(at).collect()
}

fn of_figure(
    design: &Design,
    at: &[(u64, Vec<Visited<'_>>)],
    figure: Figure,
    rules: Rules,
) -> Vec<LevelContrast> {
    let each: Vec<Logs<'_>> = at.iter().map(|(_, visits)| Logs::of(visits, figure)).collect();
    let together = Logs::mean(&each);
    let loads = at.iter().map(|(load, _)| Some(*load)).chain([None]);
    let loads: Vec<(Option<u64>, &Logs<'_>)> = loads.zip(each.iter().chain([&together])).collect();
    let all = design.compared().flat_map(|cell| loads.iter().map(move |of| (cell, of)));
    let all: Vec<_> = all.collect();
    let comparisons: Vec<Comparison<'_>> =
        all.iter().map(|(cell, (_, logs))| Comparison::against(design, logs, cell)).collect();
    let median = |cell: &str, load: Option<u64>| {
        let (_, visits) = at.iter().find(|(one, _)| Some(*one) == load)?;
        let visits = visits.iter().filter(|visit| visit.cell == cell);
        let values: Vec<f64> =
            visits.filter_map(|visit| visit.figures.get(&figure).copied()).collect();
        stats::median(&values)
    };
    let judged = judged(design, &comparisons, figure, rules);
    let contrasts = all.iter().zip(judged).map(|((cell, (load, _)), contrast)| LevelContrast {
        load: *load,
        base: median(&design.baseline, *load),
        changed: median(cell, *load),
        contrast,
    });
    // A figure that no level has is no row.
    contrasts
        .filter(|one| one.base.is_some() || one.changed.is_some() || one.contrast.pairs > 0)
        .collect()
}
