//! One line for each level or trial.

use super::super::spark::bar;
use super::rows::figure_of;
use crate::page::{Column, Mark, Table};
use crate::sections::search;
use crate::wording::{
    asked_rate, count, delivery_cell, main_failed, main_times, mark_of, missing_cell, ns, or_dash,
    plural, rate_cell, rate_of, share,
};
use model::figure::Figure;
use model::order::OrderBy as _;
use model::run::{Point, Run, TargetResult};
use model::units::{show_count, show_ns};

/// Columns of a bar.
const BAR: usize = 9;

/// A column, and the function that fills it.
struct Cell {
    column: Column,
    cell: Box<dyn Fn(&Point) -> String>,
}

fn cell(column: Column, cell: impl Fn(&Point) -> String + 'static) -> Cell {
    Cell { column, cell: Box::new(cell) }
}

/// Levels in the order they were measured.
pub(super) fn levels(run: &Run) -> Option<Table> {
    let points = &run.record.points;
    if !points.iter().any(Point::asks) {
        return None;
    }
    Some(filled(run, cells(run)))
}

fn filled(run: &Run, cells: Vec<Cell>) -> Table {
    let mut table = Table::new(cells.iter().map(|cell| cell.column.clone()).collect());
    for point in &run.record.points {
        let row = cells.iter().map(|cell| (cell.cell)(point)).collect();
        table.push(mark_of(run, point), row);
    }
    table
}

fn cells(run: &Run) -> Vec<Cell> {
    let points = &run.record.points;
    let any = |has: fn(&Point) -> bool| points.iter().any(has);
    let most = points.iter().filter_map(rate_of).max_by(f64::total_cmp).unwrap_or(0.0);
    let mut cells = vec![cell(Column::numbers("conns"), |point| {
        let visit = if point.attempt > 1 { format!("#{}", point.attempt) } else { String::new() };
        format!("{}{visit}", count(u64::from(point.load.connections)))
    })];
    if any(|point| point.load.depth > 1) {
        cells.push(cell(Column::numbers("depth"), |p| count(u64::from(p.load.depth))));
    }
    if any(|point| point.offered_rate.is_some()) {
        cells.push(cell(Column::numbers("asked/s"), |p| or_dash(asked_rate(p), show_count)));
    }
    cells.push(cell(Column::numbers("rate/s"), rate_cell));
    cells.push(cell(Column::words("").rank(5), move |point| {
        rate_of(point).map_or_else(String::new, |rate| bar(rate / most.max(1.0), BAR))
    }));
    cells.push(cell(Column::numbers("p50"), |point| figure_of(point, Figure::P50)));
    cells.push(cell(Column::numbers("p99"), |point| figure_of(point, Figure::P99)));
    cells.push(cell(Column::numbers("p99.9").rank(3), |p| figure_of(p, Figure::P99_9)));
    cells.push(cell(Column::numbers("max").rank(4), |p| figure_of(p, Figure::MAX)));
    cells.push(cell(Column::numbers("failed"), |point| or_dash(rate_of(point), |_| failed(point))));
    cells
}

/// Most targets of a mix.
const TARGETS_MAX: usize = 12;

/// The targets of a mix, in the order of its file; of many, those that were asked for most.
pub(super) fn targets(point: &Point) -> Option<Table> {
    let mut shown: Vec<&TargetResult> = point.targets.iter().collect();
    shown.order_by_key(|target| std::cmp::Reverse(target.requests.sent));
    let least = shown.get(TARGETS_MAX - 1).map_or(0, |target| target.requests.sent);
    let mut columns = vec![Column::words("target")];
    columns.extend(["rate/s", "p50", "p99"].map(Column::numbers));
    columns.push(Column::words("failed"));
    let mut table = Table::new(columns);
    let of_many = point.targets.iter().filter(|target| target.requests.sent >= least);
    for target in of_many.take(TARGETS_MAX) {
        let (latency, requests) = (&target.latency_ns, &target.requests);
        let rate = requests.completed as f64 / point.load.duration_s.max(f64::MIN_POSITIVE);
        let percentiles = [latency.p50, latency.p99].map(ns);
        let mut cells = vec![target.name.clone(), show_count(rate)];
        cells.extend(percentiles);
        cells.push(causes(target));
        let is_bad = requests.failed + requests.unanswered > 0;
        table.push(if is_bad { Mark::Caution } else { Mark::None }, cells);
    }
    let more = point.targets.len().saturating_sub(table.rows.len()) as u64;
    if more > 0 {
        let cells = ["-"; 4].map(str::to_string);
        let name = [format!("{} (-v)", plural(more, "more target"))].into_iter();
        table.push(Mark::None, name.chain(cells).collect());
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The share of a target's requests without a good response, and what came instead.
fn causes(target: &TargetResult) -> String {
    let requests = &target.requests;
    let part = |count: u64| share(count, requests.sent);
    let bad = target.status.iter().filter(|(class, _)| matches!(class.as_str(), "4xx" | "5xx"));
    let named = bad.chain(&target.errors).map(|(name, count)| (name.as_str(), *count));
    let others = [("failed a check", target.mismatched), ("no response", requests.unanswered)];
    let causes = named.chain(others).filter(|(_, count)| *count > 0);
    let causes: Vec<_> = causes.map(|(name, count)| format!("{name} {} %", part(count))).collect();
    match requests.failed + requests.unanswered {
        0 => "0 %".to_string(),
        failed => format!("{} %: {}", part(failed), causes.join(", ")),
    }
}

/// The share of requests without a good response.
pub(super) fn failed(point: &Point) -> String {
    let requests = &point.requests;
    format!("{} %", share(requests.failed + requests.unanswered, requests.sent))
}

/// Levels of devices.
pub(super) fn connections(run: &Run) -> Table {
    let is_planned = run.record.points.iter().any(|point| point.load.rate.is_some());
    // Held connections are opened before the window, whose rate would be zero.
    let are_held = run.record.points.iter().all(Point::is_held);
    let first = if is_planned { "asked/s" } else { "devices" };
    let second = if are_held { "opened" } else { "conns/s" };
    let mut columns = [first, second].map(Column::numbers).to_vec();
    let times = [("connect p50", 3), ("p90", 5), ("p99", 0), ("max", 4), ("failed", 0)];
    columns.extend(times.map(|(title, rank)| Column::numbers(title).rank(rank)));
    let mut table = Table::new(columns);
    for point in &run.record.points {
        let asked =
            point.load.rate.map_or_else(|| count(u64::from(point.load.connections)), show_count);
        let made = if are_held { count(point.connections.opened) } else { rate_cell(point) };
        let mut cells = vec![asked, made];
        let times = [Figure::P50, Figure::P90, Figure::P99, Figure::MAX];
        cells.extend(main_times(point, times));
        cells.push(main_failed(point));
        table.push(mark_of(run, point), cells);
    }
    table
}

/// Trials of a search.
pub(super) fn search(run: &Run) -> Option<Table> {
    let search = run.record.search.as_ref().filter(|search| !search.trials.is_empty())?;
    let ranks = [("asked/s", 0), ("rate/s", 0), ("length", 5), ("p50", 4), ("p99", 0)];
    let mut columns = ranks.map(|(title, rank)| Column::numbers(title).rank(rank)).to_vec();
    columns.extend([Column::numbers("failed").rank(3), Column::words("objective")]);
    let mut table = Table::new(columns);
    for (at, trial) in search.trials.iter().enumerate() {
        let (mark, word) = search::standing(trial);
        let point = run.record.points.get(at);
        let of = |figure| or_dash(point, |point| figure_of(point, figure));
        let cells = vec![
            show_count(trial.rate),
            or_dash(point, rate_cell),
            show_ns(trial.duration_s * 1e9),
            of(Figure::P50),
            of(Figure::P99),
            or_dash(point, main_failed),
            word.to_string(),
        ];
        table.push(mark, cells);
    }
    Some(table)
}

/// Levels of subscribers.
pub(super) fn events(run: &Run) -> Option<Table> {
    let titles = [("subscribers", 0), ("events/s", 0), ("delivered", 0), ("missing", 5)];
    let times = [("stale p50", 3), ("p99", 0), ("max", 4), ("lost", 2)];
    let columns = titles.into_iter().chain(times);
    let columns = columns.map(|(title, rank)| Column::numbers(title).rank(rank)).collect();
    let mut table = Table::new(columns);
    for point in &run.record.points {
        let Some(events) = point.events() else { continue };
        let delivery = delivery_cell(point);
        let mut cells = vec![
            count(u64::from(point.load.connections)),
            rate_cell(point),
            if delivery == "-" { delivery } else { format!("{delivery} %") },
            missing_cell(point, |missing, _| count(missing)),
        ];
        cells.extend(main_times(point, [Figure::P50, Figure::P99, Figure::MAX]));
        cells.push(count(events.subscribers.lost));
        table.push(mark_of(run, point), cells);
    }
    Some(table)
}
