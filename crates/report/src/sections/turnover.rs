//! Connections that come and go: how many, how long they took to open, and which side closed them.

use crate::page::{Block, Column, Table};
use crate::wording::{
    connect_time, count, main_times, mark_of, or_dash, plural, point_heading, point_mark, rate_cell,
};
use model::figure::Figure;
use model::run::{Point, Run, TurnoverInfo};
use model::units::{show_bytes, show_count};

/// One row per point whose connections come and go; nothing when there is none.
pub fn turnover<'a>(run: &'a Run) -> Vec<Block> {
    let with = |point: &'a Point| Some((point, point.turnover()?));
    let rows: Vec<(&Point, &TurnoverInfo)> = run.record.points.iter().filter_map(with).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    if rows.iter().all(|(point, _)| point.is_held()) {
        return vec![Block::Table(held(run, &rows))];
    }
    let is_planned = rows.iter().any(|(_, turnover)| turnover.starts.is_some());
    let mut columns = vec![Column::numbers(point_heading(run)), Column::numbers("conns/s")];
    columns.extend(is_planned.then(|| Column::numbers("asked/s")));
    columns.extend(["connect p50", "p99", "max"].map(Column::numbers));
    columns.extend(["opened", "failed"].map(Column::numbers));
    columns.extend(is_planned.then(|| Column::numbers("unsent")));
    columns.extend(["closed by us", "by peer"].map(|title| Column::numbers(title).rank(1)));
    let mut table = Table::new(columns);
    for (point, turnover) in &rows {
        let mut cells = vec![point_mark(point), rate_cell(point)];
        cells.extend(is_planned.then(|| or_dash(turnover.planned_rate, show_count)));
        let figures = [Figure::P50, Figure::P99, Figure::MAX];
        cells.extend(figures.map(|figure| connect_time(turnover, figure)));
        let counts = [turnover.established, turnover.failed];
        cells.extend(counts.map(count));
        cells
            .extend(is_planned.then(|| or_dash(turnover.starts.as_ref(), |one| count(one.unsent))));
        cells.extend([turnover.closed_by_us, turnover.closed_by_peer].map(count));
        table.push(mark_of(run, point), cells);
    }
    if is_planned {
        table.notes.push("Time to connect is measured from the planned instant.".to_string());
    }
    for (point, turnover) in rows {
        table.notes.extend(notes(point, turnover));
    }
    vec![Block::Table(table)]
}

/// Held connections are opened in the ramp-up, before the window, whose figures would be zeros.
fn held(run: &Run, rows: &[(&Point, &TurnoverInfo)]) -> Table {
    let mut columns = vec![Column::numbers(point_heading(run))];
    columns.extend(["opened", "failed", "lost"].map(Column::numbers));
    columns.extend(["connect p50", "p99", "max"].map(Column::numbers));
    let mut table = Table::new(columns);
    for (point, turnover) in rows {
        let connections = &point.connections;
        let counts = [connections.opened, connections.failed, turnover.closed_by_peer];
        let mut cells = vec![point_mark(point)];
        cells.extend(counts.map(count));
        cells.extend(main_times(point, [Figure::P50, Figure::P99, Figure::MAX]));
        table.push(mark_of(run, point), cells);
        table.notes.extend(notes(point, turnover));
    }
    table
}

fn notes(point: &Point, turnover: &TurnoverInfo) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(starts) = &turnover.starts {
        let (due, begun) = (count(starts.due()), count(starts.begun));
        let is_odd = starts.missed() + starts.waited > 0;
        notes.extend(is_odd.then(|| {
            format!(
                "{}: {due} connections were due and {begun} started, {} of them late because no \
                 device was free; {} failed and {} were pending at the end.",
                point_mark(point),
                count(starts.waited),
                count(starts.failed),
                count(starts.pending),
            )
        }));
    } else if let Some(planned) = turnover.planned_rate {
        let share = turnover.rate / planned.max(f64::MIN_POSITIVE) * 100.0;
        let planned = show_count(planned);
        notes.push(format!(
            "Devices divided by hold time is {planned} conns/s: {share:.0} % of that was reached."
        ));
    }
    if !turnover.syn_retries.is_empty() {
        let modes: Vec<String> = turnover
            .syn_retries
            .iter()
            .map(|(second, connects)| format!("{} at {second}", count(*connects)))
            .collect();
        notes.push(format!(
            "Connects that took as long as the retransmission of a lost SYN: {}.",
            modes.join(", ")
        ));
    }
    // On a schedule few devices are open at once, so a figure per connection would mislead.
    if let (Some(bytes), None) = (turnover.client_bytes_each, &turnover.starts) {
        let open = plural(point.connections.opened, "connection");
        let bytes = or_dash(Some(bytes), show_bytes);
        notes.push(format!("{bytes} of generator memory for each of {open}, kernel excluded."));
    }
    notes
}
