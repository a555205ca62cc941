//! The visits of an experiment with their runs, for its sections.

use crate::page::Mark;
use crate::wording::best_point;
use figures::visit;
use model::analysis::VisitSeen;
use model::claim::Claim;
use model::experiment::{CellResult, Experiment};
use model::figure::Figure;
use model::run::{Point, Run};
use model::verdict::Named;
use std::collections::BTreeMap;

/// Each visit with its run; without a design, each cell.
pub(super) fn each_visit<'a>(
    of: &'a Experiment,
    runs: &'a [Option<Run>],
) -> impl Iterator<Item = (&'a CellResult, Option<&'a Run>)> {
    of.cells.iter().zip(runs.iter().map(Option::as_ref))
}

/// Each visit with its run, without the warm-up block, which is in no figure.
pub(super) fn counted_visits<'a>(
    of: &'a Experiment,
    runs: &'a [Option<Run>],
) -> impl Iterator<Item = (&'a CellResult, Option<&'a Run>)> {
    each_visit(of, runs).filter(|(cell, _)| cell.block != Some(0))
}

/// Whether there is any run: a result may be kept without its runs.
pub(super) fn has_runs(runs: &[Option<Run>]) -> bool {
    runs.iter().any(Option::is_some)
}

/// A visit from the document of the experiment, where its run is not kept.
pub(super) fn stored_visit<'a>(of: &'a Experiment, cell: &CellResult) -> Option<&'a VisitSeen> {
    let mut visits = of.analysis.iter().flat_map(|analysis| &analysis.visits);
    visits.find(|one| one.cell == cell.name && one.block == cell.block)
}

/// One figure of a visit, from the document of the experiment.
pub(super) fn stored_figure(of: &Experiment, cell: &CellResult, figure: Figure) -> Option<f64> {
    stored_visit(of, cell)?.figures.get(&figure).copied()
}

/// Whether a rule of the plan left a visit out of all figures.
pub(super) fn is_excluded(of: &Experiment, cell: &CellResult) -> bool {
    let analysis = of.analysis.as_ref();
    let mut excluded = analysis.iter().flat_map(|analysis| &analysis.excluded);
    excluded.any(|one| one.cell == cell.name && Some(one.block) == cell.block)
}

/// The anchor of a visit by its index in the experiment, from 0.
pub(super) fn visit_anchor(nth: usize) -> String {
    format!("visit-{}", nth + 1)
}

/// The figures of a visit that are compared with those of other visits.
pub fn figures(run: &Run) -> BTreeMap<Figure, f64> {
    visit::figures(&run.record)
}

/// Whether the wall of a cell is one that the plan expects; nothing when none is expected or the
/// wall is not known.
pub fn is_expected(cell: &CellResult, run: &Run) -> Option<bool> {
    let verdict = &run.record.verdict;
    match verdict.wall {
        _ if cell.expected.is_empty() => None,
        Named::Unknown => None,
        Named::None => Some(false),
        Named::Wall(wall) => {
            let mut walls = verdict.also.iter().chain([&wall]);
            Some(walls.any(|wall| cell.expected.contains(wall)))
        }
    }
}

/// The mark of a run whose load another tool made.
pub(super) fn mark_of_claim(claim: &Claim) -> Mark {
    match claim {
        Claim::Known => Mark::None,
        Claim::OfGenerator => Mark::Caution,
        Claim::NotKnown(_) => Mark::Broken,
    }
}

/// The cell, and with a design the block of the visit.
pub(super) fn visit_name(cell: &CellResult) -> String {
    let block = match cell.block {
        None => String::new(),
        Some(0) => " warm-up".to_string(),
        Some(block) => format!(" #{block}"),
    };
    format!("{}{block}", cell.name)
}

/// The best point, or the last one (marked) where none is valid.
pub(super) fn point_of(run: &Run) -> Option<&Point> {
    best_point(run).map(|(_, point)| point).or(run.record.points.last())
}
