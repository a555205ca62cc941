//! One line for each level or trial.

use super::super::spark::bar;
use super::rows::figure_of;
use crate::page::{Column, Table};
use crate::sections::search;
use crate::sections::turnover::{is_held, missed, never_open};
use crate::wording::{
    connect_time, count, delivery_cell, mark_of, missing_cell, ns, or_dash, rate_cell, rate_of,
    share,
};
use model::histogram::Summary;
use model::run::{Point, Run};
use model::standing::Figure;
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
        cells.push(cell(Column::numbers("asked/s"), |p| or_dash(p.offered_rate, show_count)));
    }
    cells.push(cell(Column::numbers("rate/s"), rate_cell));
    cells.push(cell(Column::words("").rank(5), move |point| {
        rate_of(point).map_or_else(String::new, |rate| bar(rate / most.max(1.0), BAR))
    }));
    cells.push(cell(Column::numbers("p50"), |point| figure_of(point, Figure::P50)));
    cells.push(cell(Column::numbers("p99"), |point| figure_of(point, Figure::P99)));
    cells.push(cell(Column::numbers("p99.9").rank(3), |p| figure_of(p, Figure::P99_9)));
    cells.push(cell(Column::numbers("max").rank(4), |p| figure_of(p, Figure::Max)));
    cells.push(cell(Column::numbers("failed"), |point| or_dash(rate_of(point), |_| failed(point))));
    cells
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
    let are_held = run.record.points.iter().all(is_held);
    let first = if is_planned { "asked/s" } else { "devices" };
    let second = if are_held { "opened" } else { "conns/s" };
    let mut columns = [first, second].map(Column::numbers).to_vec();
    columns.extend(["connect p50", "p90", "p99", "max", "failed"].map(Column::numbers));
    let mut table = Table::new(columns);
    for point in &run.record.points {
        let Some(turnover) = &point.turnover else { continue };
        let asked =
            point.load.rate.map_or_else(|| count(u64::from(point.load.connections)), show_count);
        let (made, failed) = match are_held {
            true => (count(point.connections.opened), never_open(point)),
            false => (rate_cell(point), missed(turnover)),
        };
        let mut cells = vec![asked, made];
        cells.extend([Figure::P50, Figure::P90, Figure::P99, Figure::Max].map(|figure| {
            match are_held {
                true => ns(point.connections.connect_ns.of(figure)),
                false => connect_time(turnover, figure),
            }
        }));
        cells.push(failed);
        table.push(mark_of(run, point), cells);
    }
    table
}

/// Trials of a search.
pub(super) fn search(run: &Run) -> Option<Table> {
    let search = run.record.search.as_ref().filter(|search| !search.trials.is_empty())?;
    let mut columns = ["asked/s", "rate/s", "length", "p50", "p99"].map(Column::numbers).to_vec();
    columns.extend([Column::numbers("failed"), Column::words("objective")]);
    let mut table = Table::new(columns);
    for (at, trial) in search.trials.iter().enumerate() {
        let (mark, word) = search::standing(trial);
        let point = run.record.points.get(at);
        let of = |figure| point.map_or_else(|| "-".to_string(), |point| figure_of(point, figure));
        let devices = point.filter(|point| point.is_churn());
        let [rate, p50, p99, failed] = match devices.and_then(|point| point.turnover.as_ref()) {
            Some(turnover) => {
                let [p50, p99] = [Figure::P50, Figure::P99].map(|of| connect_time(turnover, of));
                [or_dash(devices, rate_cell), p50, p99, missed(turnover)]
            }
            None => [
                point.map_or_else(|| "-".to_string(), rate_cell),
                of(Figure::P50),
                of(Figure::P99),
                or_dash(point, failed),
            ],
        };
        let length = show_ns(trial.duration_s * 1e9);
        let cells = vec![show_count(trial.rate), rate, length, p50, p99, failed, word.to_string()];
        table.push(mark, cells);
    }
    Some(table)
}

/// Levels of subscribers.
pub(super) fn events(run: &Run) -> Option<Table> {
    let titles = ["subscribers", "events/s", "delivered", "missing"];
    let mut columns = titles.map(Column::numbers).to_vec();
    columns.extend(["stale p50", "p99", "max", "lost"].map(Column::numbers));
    let mut table = Table::new(columns);
    for point in &run.record.points {
        let Some(events) = &point.events else { continue };
        let stale = |of: fn(&Summary) -> Option<u64>| ns(events.staleness_ns.as_ref().and_then(of));
        let delivery = delivery_cell(point);
        let cells = vec![
            count(u64::from(point.load.connections)),
            rate_cell(point),
            if delivery == "-" { delivery } else { format!("{delivery} %") },
            missing_cell(point, |missing, _| count(missing)),
            stale(|of| of.p50),
            stale(|of| of.p99),
            stale(|of| of.max),
            count(events.subscribers.lost),
        ];
        table.push(mark_of(run, point), cells);
    }
    Some(table)
}
