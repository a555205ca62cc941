//! Each visit of each cell as a dot, with the median of the cell and its interval.

use super::visited::{
    figures, has_runs, is_excluded, mark_of_claim, point_of, stored_figure, visit_anchor,
    visit_name,
};
use crate::axis::shown;
use crate::page::{Axis, Dot, DotRow, Dots, Mark, Scale};
use crate::wording::{is_partial, wall_mark};
use figures::book::measured;
use figures::visit::{bounds, is_nothing_of_tool};
use model::claim::Claim;
use model::experiment::{CellResult, Design, Experiment};
use model::figure::Figure;
use model::run::{Point, Run};
use model::unit::Unit;

/// Values that differ by more than this factor need a log axis.
const FACTOR_MAX: f64 = 4.0;

/// The dots of one figure; nothing when no visit has it.
pub(super) fn plot(
    of: &Experiment,
    design: &Design,
    runs: &[Option<Run>],
    figure: Figure,
) -> Option<Dots> {
    let (axis, factor) = axis_of(figure);
    let last = of.cells.iter().filter_map(|cell| cell.block).max().unwrap_or(1);
    let row = |name: &String| {
        let summary = of.summaries.iter().find(|one| one.cell == *name && one.figure == figure);
        let dots = of.cells.iter().zip(runs).enumerate();
        let dots = dots.filter(|(_, (cell, _))| cell.name == *name && cell.block != Some(0));
        let scaled = |value: f64| value * factor;
        let middle = summary.map(|one| scaled(one.median));
        DotRow {
            label: name.clone(),
            value: middle.map_or_else(|| "-".to_string(), |median| shown(&axis, median)),
            word: String::new(),
            dots: dots
                .filter_map(|(nth, (cell, run))| {
                    let (at, mark) = match run {
                        Some(run) => value_of(run, figure)?,
                        None => (stored_figure(of, cell, figure)?, Mark::None),
                    };
                    let mark = if is_excluded(of, cell) { Mark::Broken } else { mark };
                    let block = cell.block.unwrap_or(1);
                    Some(Dot {
                        at: scaled(at),
                        place: place(block, last),
                        mark,
                        detail: detail(cell, run.as_ref(), &shown(&axis, scaled(at)), mark),
                        about: if has_runs(runs) { visit_anchor(nth) } else { String::new() },
                    })
                })
                .collect(),
            middle,
            within: summary
                .and_then(|one| one.low.zip(one.high))
                .map(|(low, high)| (scaled(low), scaled(high))),
        }
    };
    let rows: Vec<DotRow> = design.cells.iter().map(row).collect();
    let values = || rows.iter().flat_map(|row| &row.dots).map(|dot| dot.at);
    let low = values().min_by(f64::total_cmp)?;
    let high = values().max_by(f64::total_cmp)?;
    // Zero has no place on a log axis.
    let is_wide = low > 0.0 && high > low * FACTOR_MAX;
    let scale = if is_wide { Scale::Log } else { Scale::Linear };
    Some(Dots {
        id: format!("visits-{}", id(figure)),
        title: format!("{} of each visit", title(figure)),
        note: String::new(),
        rows_are: "cell".to_string(),
        values_are: "median".to_string(),
        words_are: String::new(),
        axis: Axis { scale, ..axis },
        zone: None,
        line: None,
        rows,
    })
}

/// How to read the plots: only what occurs in them is explained.
pub(super) fn note(plots: &[Dots]) -> String {
    let rows = || plots.iter().flat_map(|plot| &plot.rows);
    let mut note =
        "Each dot is a visit, from the first block at the top of its row to the last at \
                    the bottom. The line is the median"
            .to_string();
    note += match rows().any(|row| row.within.is_some()) {
        true => ", the bar its 95 % interval.",
        false => "; from six visits on it has an interval.",
    };
    let has = |mark: Mark| rows().flat_map(|row| &row.dots).any(|dot| dot.mark == mark);
    if has(Mark::Broken) {
        note += " A cross is a visit whose figure was struck by gates, or that a rule of the plan \
                 left out: it counts in no figure.";
    }
    if has(Mark::Caution) {
        note += " A ring is a visit with a reservation: the generator was the wall, the figure has \
                 only bounds, or the visit was cut short.";
    }
    note
}

/// The figure of a visit, and whether it counts.
pub(super) fn value_of(run: &Run, figure: Figure) -> Option<(f64, Mark)> {
    if let Some(tool) = &run.record.tool {
        let value = tool.figure(figure)?;
        if value <= 0.0 && !is_nothing_of_tool(tool, figure) {
            return None;
        }
        let is_cost = figure.is_cost();
        let mark = if is_cost { Mark::None } else { mark_of_claim(&run.record.claim()) };
        return Some((value, mark));
    }
    let point = point_of(run)?;
    match figures(run).get(&figure) {
        Some(value) => Some((*value, mark(run, point, figure))),
        None => {
            let value = measured(point, figure).filter(|value| *value > 0.0)?;
            Some((value, Mark::Broken))
        }
    }
}

/// The mark of a figure that counts. CPU time per request is valid whatever the wall is.
fn mark(run: &Run, point: &Point, figure: Figure) -> Mark {
    let is_cost = figure.is_cost();
    let is_of_generator = !is_cost && point.claim() == Claim::OfGenerator;
    let is_bounded = bounds(&run.record).contains_key(&figure);
    match is_of_generator || is_bounded || is_partial(run, point) {
        true => Mark::Caution,
        false => Mark::None,
    }
}

fn detail(cell: &CellResult, run: Option<&Run>, value: &str, mark: Mark) -> String {
    let wall = match run.map(|run| wall_mark(&run.record.verdict)).as_deref() {
        None => "no run to judge".to_string(),
        Some("-") => "no wall".to_string(),
        Some("unknown") => "wall unknown".to_string(),
        Some(wall) => wall.to_string(),
    };
    let struck = if mark == Mark::Broken { ", left out" } else { "" };
    format!("{}: {value}{struck}; {wall}", visit_name(cell))
}

/// Vertical position of a block in a row.
fn place(block: u32, last: u32) -> f64 {
    match last {
        0 | 1 => 0.5,
        last => f64::from(block.saturating_sub(1)) / f64::from(last - 1),
    }
}

/// The axis of a figure, and the factor that converts its values to the unit of the axis.
pub(super) fn axis_of(figure: Figure) -> (Axis, f64) {
    let label = match figure {
        Figure::Rate => "rate",
        one if one.is_cost() => "CPU time",
        _ => "latency",
    };
    match figure.unit().ns() {
        Some(ns) => (Axis::linear(label, Unit::Ns), ns as f64),
        None => (Axis::linear(label, figure.unit()), 1.0),
    }
}

/// The name of a figure in a title.
pub(super) fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::Rate => "Rate",
        Figure::ClientCpu => "Client CPU per response",
        Figure::ServerCpu => "Server CPU per response",
        other => other.name(),
    }
}

/// The suffix of an anchor.
pub(super) fn id(figure: Figure) -> String {
    figure.to_string().replace('.', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::analysis::{Analysis, Excluded};

    #[test]
    fn a_struck_visit_is_drawn_and_counts_in_nothing() {
        let (of, mut runs) = fixtures::blocks();
        runs[0] = Some(fixtures::ramp_invalid());
        let dots = plot(&of, of.design.as_ref().unwrap(), &runs, Figure::Rate).unwrap();
        let marks: Vec<_> = dots.rows[0].dots.iter().map(|dot| dot.mark).collect();
        assert_eq!(marks, [Mark::Broken, Mark::None]);
        assert!(dots.rows[0].dots[0].detail.contains("left out"));
        let note = note(std::slice::from_ref(&dots));
        assert!(note.contains("A cross"), "{note}");
        assert_eq!(dots.rows[0].dots[1].about, "visit-4");
        let places: Vec<_> = dots.rows[0].dots.iter().map(|dot| dot.place).collect();
        assert_eq!(places, [0.0, 1.0], "blocks from top to bottom");
    }

    #[test]
    fn a_time_that_is_not_known_counts_in_nothing_and_the_rate_beside_it_does() {
        use model::standing::Standing;
        let (of, mut runs) = fixtures::blocks();
        let run = runs[0].as_mut().unwrap();
        for point in &mut run.record.points {
            let low = point.latency_ns.p50.unwrap() as f64;
            let by = "the generator stood still".to_string();
            let bounded = Standing::Bounded { low, high: Some(2.0 * low), by };
            point.standing.add(Figure::P50, bounded);
            let why = "the generator stood still".to_string();
            point.standing.add(Figure::P99, Standing::NotKnown { why });
        }
        assert!(!figures(run).contains_key(&Figure::P99));
        let mark = |figure| {
            let dots = plot(&of, of.design.as_ref().unwrap(), &runs, figure).unwrap();
            dots.rows[0].dots[0].mark
        };
        let marks = [Figure::Rate, Figure::P50, Figure::P99, Figure::ServerCpu].map(mark);
        assert_eq!(marks, [Mark::None, Mark::Caution, Mark::Broken, Mark::None]);
    }

    #[test]
    fn a_warm_up_is_no_visit_and_one_that_a_rule_leaves_out_is_a_cross() {
        let (mut of, runs) = fixtures::blocks();
        of.cells[0].block = Some(0);
        let why = "steal > 2%: it was 3.1 %".to_string();
        let excluded = Excluded { cell: "plain".to_string(), block: 2, why };
        of.analysis = Some(Analysis { excluded: vec![excluded], ..Analysis::default() });
        let dots = plot(&of, of.design.as_ref().unwrap(), &runs, Figure::Rate).unwrap();
        let marks: Vec<_> = dots.rows[0].dots.iter().map(|dot| dot.mark).collect();
        assert_eq!(marks, [Mark::Broken]);
    }

    #[test]
    fn cells_of_different_size_stand_on_an_axis_of_factors() {
        let (of, mut runs) = fixtures::blocks();
        let design = of.design.as_ref().unwrap();
        let scale = |runs: &[Option<Run>]| {
            plot(&of, design, runs, Figure::Rate).map(|dots| dots.axis.scale)
        };
        assert_eq!(scale(&runs), Some(Scale::Linear));
        runs[1] = Some(fixtures::fanout());
        assert_eq!(scale(&runs), Some(Scale::Log));
        assert_eq!(scale(&vec![None; runs.len()]), None);
    }
}
