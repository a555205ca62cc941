//! Exact counts of connections and requests by their outcome.

use super::security;
use crate::page::{Block, Column, Table};
use crate::wording::{count, mark_of, ns, or_dash, point_heading, point_mark};
use model::run::{Point, Run};
use model::tick::ErrorClass;

/// The tables of the points that lost something; nothing when no point did.
pub fn trouble(run: &Run) -> Vec<Block> {
    let losing: Vec<&Point> = run.record.points.iter().filter(|point| lost(point) > 0).collect();
    if losing.is_empty() { Vec::new() } else { drawn(run, &losing) }
}

/// The number of connections and requests that were lost.
fn lost(point: &Point) -> u64 {
    let (connections, requests) = (&point.connections, &point.requests);
    // Without requests, an open connection counts as served.
    let is_served = if point.asks() { connections.served } else { connections.opened };
    let unserved = connections.asked.saturating_sub(is_served);
    let unanswered = requests.failed + requests.unsent + requests.unanswered;
    let errors: u64 = point.errors.values().sum();
    let reopened = if point.is_of_devices() { 0 } else { connections.reopened };
    unserved + reopened + unanswered + point.mismatched + errors
}

/// Connections, requests and errors of each point.
pub fn tables(run: &Run) -> Vec<Block> {
    let points: Vec<&Point> = run.record.points.iter().collect();
    if points.is_empty() { Vec::new() } else { drawn(run, &points) }
}

fn drawn(run: &Run, points: &[&Point]) -> Vec<Block> {
    let mut tables = vec![connections(run, points)];
    tables.extend(security::handshakes(run, points));
    if points.iter().any(|point| point.asks()) {
        tables.push(requests(run, points));
    }
    tables.extend(errors(run, points));
    tables.into_iter().map(Block::Table).collect()
}

fn connections(run: &Run, points: &[&Point]) -> Table {
    let mut columns = vec![Column::numbers(point_heading(run))];
    let has_requests = points.iter().any(|point| point.asks());
    let counted = ["asked", "opened", "served", "failed", "reopened"];
    let shown = |title: &&str| has_requests || *title != "served";
    columns.extend(counted.into_iter().filter(shown).map(Column::numbers));
    columns.extend(["p50 to connect", "max to connect"].map(|t| Column::numbers(t).rank(2)));
    let has_streams = points.iter().any(|point| point.connections.streams.is_some());
    columns.extend(has_streams.then(|| Column::numbers("p50 to settings").rank(2)));
    let spread = ["min reqs each", "p50 reqs each", "max reqs each"];
    if has_requests {
        columns.extend(spread.map(|title| Column::numbers(title).rank(1)));
    }
    let mut table = Table::new(columns).caption("Connections");
    for point in points {
        let connections = &point.connections;
        let mut cells = vec![point_mark(point)];
        cells.extend([connections.asked, connections.opened].map(count));
        cells.extend(has_requests.then(|| count(connections.served)));
        cells.extend([connections.failed, connections.reopened].map(count));
        cells.extend([connections.connect_ns.p50, connections.connect_ns.max].map(ns));
        let settings_ns = connections.streams.as_ref().and_then(|streams| streams.settings_ns.p50);
        cells.extend(has_streams.then(|| ns(settings_ns)));
        let each = &connections.requests_each;
        let each = [each.min, each.p50, each.max].map(|number| or_dash(number, count));
        cells.extend(has_requests.then_some(each).into_iter().flatten());
        table.push(mark_of(run, point), cells);
    }
    table
}

fn requests(run: &Run, points: &[&Point]) -> Table {
    let mut columns = vec![Column::numbers(point_heading(run))];
    let is_open = points.iter().any(|point| point.requests.planned.is_some());
    if is_open {
        columns.extend(["planned", "unsent"].map(Column::numbers));
    }
    columns.extend(["sent", "completed", "failed", "unanswered"].map(Column::numbers));
    let responses = |point: &Point, class: &str| point.status.get(class).copied();
    let occurred = |class: &&str| {
        *class == "2xx" || points.iter().any(|point| responses(point, class).unwrap_or(0) > 0)
    };
    let classes: Vec<&str> = ["2xx", "3xx", "4xx", "5xx"].into_iter().filter(occurred).collect();
    columns.extend(classes.iter().map(|class| Column::numbers(class).rank(1)));
    let is_mismatched = points.iter().any(|point| point.mismatched > 0);
    if is_mismatched {
        columns.push(Column::numbers("mismatch").rank(2));
    }
    let mut table = Table::new(columns).caption("Requests");
    for point in points {
        let requests = &point.requests;
        let mut cells = vec![point_mark(point)];
        if is_open {
            cells.push(or_dash(requests.planned, count));
            cells.push(or_dash(requests.planned, |_| count(requests.unsent)));
        }
        let counts = [requests.sent, requests.completed, requests.failed, requests.unanswered];
        cells.extend(counts.map(count));
        cells.extend(classes.iter().map(|class| or_dash(responses(point, class), count)));
        if is_mismatched {
            cells.push(count(point.mismatched));
        }
        table.push(mark_of(run, point), cells);
    }
    table
}

/// Errors by class; classes that never occurred are left out.
fn errors(run: &Run, points: &[&Point]) -> Option<Table> {
    let occurred = |class: &ErrorClass| points.iter().any(|p| p.errors_of(*class) > Some(0));
    let classes: Vec<ErrorClass> = ErrorClass::ALL.into_iter().filter(occurred).collect();
    if classes.is_empty() {
        return None;
    }
    let mut columns = vec![Column::numbers(point_heading(run))];
    columns.extend(classes.iter().map(|class| Column::numbers(class.name())));
    let mut table = Table::new(columns).caption("Errors by class");
    for point in points {
        let mut cells = vec![point_mark(point)];
        cells.extend(classes.iter().map(|class| or_dash(point.errors_of(*class), count)));
        table.push(mark_of(run, point), cells);
    }
    let note = "connect, tls, ports and fds count attempts to connect, the others requests.";
    table.notes.push(note.to_string());
    Some(table)
}
