//! Every figure that the probes read, host by host, as declared by its source: for reference.

use crate::hosts::{FAR, INSIDE, inner, near};
use crate::page::{Block, Column, Mark, Table};
use crate::wording::{best_point, or_dash, point_heading, point_mark};
use model::metric::{Declaration, Metric};
use model::order::OrderBy as _;
use model::reading::{Data, Reading};
use model::run::{Point, Run};
use model::units::show_ns;
use observe::{Raw, figures};
use std::collections::BTreeMap;

/// Points with a column of their own.
const POINTS_MAX: usize = 6;
/// Most figures of one source; those with the largest values are drawn.
const FIGURES_MAX: usize = 80;

/// One folded table for each host that was read.
pub fn tables(run: &Run) -> Vec<Block> {
    let raw = Raw::from(run);
    let points = points(run);
    let near_in: Vec<Vec<&Reading>> =
        points.iter().map(|point| raw.near_in(point).collect()).collect();
    let tick_ns = run.record.host.clock_tick_ns;
    let mut tables = vec![table(run, near(run), (raw.near, &near_in), &points, tick_ns)];
    if let Some(probe) = &run.record.target.probe {
        let inside =
            |point: &&Point| raw.far_in(&run.record, point).into_iter().flatten().collect();
        let far_in: Vec<Vec<&Reading>> = points.iter().map(inside).collect();
        let tick_ns = probe.host.clock_tick_ns;
        tables.push(table(run, FAR, (raw.far, &far_in), &points, tick_ns));
    }
    let (near, far) = (inner(raw.near), inner(raw.far));
    let inner = Raw { near: &near, far: &far };
    let near_in: Vec<Vec<&Reading>> =
        points.iter().map(|point| inner.near_in(point).collect()).collect();
    tables.push(table(run, INSIDE, (inner.near, &near_in), &points, tick_ns));
    let inside = |point: &&Point| inner.far_in(&run.record, point).into_iter().flatten().collect();
    let far_in: Vec<Vec<&Reading>> = points.iter().map(inside).collect();
    tables.push(table(run, INSIDE, (inner.far, &far_in), &points, tick_ns));
    tables.into_iter().flatten().map(Block::Table).collect()
}

/// All points when they are few; else the best, and others evenly spaced.
fn points(run: &Run) -> Vec<&Point> {
    let points = &run.record.points;
    let best = best_point(run).map(|(index, _)| index);
    let every = points.len().div_ceil(POINTS_MAX).max(1);
    let is_chosen = |index: usize| index.is_multiple_of(every) || Some(index) == best;
    let indexed = points.iter().enumerate();
    indexed.filter(|(index, _)| is_chosen(*index)).map(|(_, point)| point).collect()
}

/// Values of one figure at the points, where it was read.
type Values = Vec<Option<f64>>;

fn table(
    run: &Run,
    whose: &str,
    (all, inside): (&[Reading], &[Vec<&Reading>]),
    points: &[&Point],
    tick_ns: u64,
) -> Option<Table> {
    // A run without readings has no declarations.
    let declared = all.iter().find_map(|reading| match &reading.data {
        Data::Declared(declared) => Some(declared),
        _ => None,
    })?;
    let mut columns =
        vec![Column::words("source"), Column::words("figure"), Column::words("shown")];
    let heading = point_heading(run);
    let title = |point: &&Point| format!("{heading} {}", point_mark(point));
    columns.extend(points.iter().map(|point| Column::numbers(&title(point)).rank(1)));
    columns.push(Column::words("meaning").rank(2));
    let mut table = Table::new(columns).caption(format!("Every counter of {whose}")).folded();
    for source in declared {
        add(&mut table, source, inside, tick_ns);
    }
    table.notes.push(
        "Figures that are zero or did not change are left out. All readings are in the run \
         directory."
            .to_string(),
    );
    (!table.rows.is_empty()).then_some(table)
}

fn add(table: &mut Table, source: &Declaration, inside: &[Vec<&Reading>], tick_ns: u64) {
    let mut rows: BTreeMap<(usize, Vec<String>), (&Metric, Values)> = BTreeMap::new();
    for (index, readings) in inside.iter().enumerate() {
        for figure in figures(source, readings) {
            let place = source.metrics.iter().position(|one| std::ptr::eq(one, figure.metric));
            let key = (place.unwrap_or(0), figure.labels);
            let (_, values) = rows.entry(key).or_insert((figure.metric, vec![None; inside.len()]));
            values[index] = Some(figure.value);
        }
    }
    let most = |values: &Values| values.iter().flatten().copied().fold(0.0, f64::max);
    rows.retain(|_, (_, values)| most(values) > 0.0);
    let mut largest: Vec<f64> = rows.values().map(|(_, values)| most(values)).collect();
    largest.order_by(|left, right| right.total_cmp(left));
    let least = largest.get(FIGURES_MAX - 1).copied().unwrap_or(0.0);
    let left_out = rows.len();
    rows.retain(|_, (_, values)| most(values) >= least);
    let left_out = left_out - rows.len();
    let mut help = "";
    for ((_, labels), (metric, values)) in rows {
        let stem = Some(metric.stem()).filter(|stem| !stem.is_empty());
        let figure = labels.into_iter().chain(stem).collect::<Vec<_>>().join(" ");
        let mut cells = vec![source.name.clone(), figure, metric.kind.word().to_string()];
        let show = |value: f64| match metric.unit.ns_of_host(tick_ns) {
            Some(ns) => show_ns(value * ns as f64),
            None => metric.unit.show(value),
        };
        let shown = |value: Option<f64>| or_dash(value, show);
        cells.extend(values.into_iter().map(shown));
        // A repeated description is left out.
        cells.push(if metric.help == help { String::new() } else { metric.help.clone() });
        help = &metric.help;
        table.push(Mark::None, cells);
    }
    if left_out > 0 {
        let text =
            format!("{left_out} figures of {} with smaller values are not drawn.", source.name);
        table.notes.push(text);
    }
}
