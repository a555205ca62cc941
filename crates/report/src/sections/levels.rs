//! The table: one row per visit of a level.

use crate::page::{Block, Column, Mark, Table};
use crate::wording::{
    asked_rate, count, is_partial, latency, mark_of, microseconds, mixed_cost, ns, or_dash,
    point_mark, rate_cell, rate_of, struck_phrases, wall_mark, wall_phrase,
};
use model::claim::Claim;
use model::figure::Figure;
use model::load::LoadModel;
use model::run::{Point, Run};
use model::tick::ErrorClass;
use model::units::show_count;

/// A column and how to fill it.
struct LevelCell {
    column: Column,
    cell: fn(&Point) -> String,
}

fn figure(column: Column, cell: fn(&Point) -> String) -> LevelCell {
    LevelCell { column, cell }
}

/// One row per point; columns without information in this run are left out.
pub fn levels(run: &Run) -> Vec<Block> {
    let points = &run.record.points;
    if !points.is_empty() && points.iter().all(Point::is_of_devices) {
        // The table of connections replaces it.
        return Vec::new();
    }
    if points.is_empty() {
        return vec![Block::Text("No level was measured.".to_string())];
    }
    if !points.iter().any(Point::asks) {
        return Vec::new();
    }
    let figures = figures(points);
    let mut table = Table::new(figures.iter().map(|figure| figure.column.clone()).collect());
    for point in points {
        let cells = figures.iter().map(|figure| (figure.cell)(point)).collect();
        table.push(mark_of(run, point), cells);
    }
    table.notes = notes(run);
    vec![Block::Table(table)]
}

fn figures(points: &[Point]) -> Vec<LevelCell> {
    let any = |has: fn(&Point) -> bool| points.iter().any(has);
    let of_events = points.iter().all(|point| point.events().is_some());
    let heading = if of_events { "subs" } else { "conns" };
    let mut figures = vec![figure(Column::numbers(heading), |point| {
        let visit = if point.attempt > 1 { format!("#{}", point.attempt) } else { String::new() };
        format!("{}{visit}", count(u64::from(point.load.connections)))
    })];
    if any(|point| point.load.depth > 1) {
        figures.push(figure(Column::numbers("depth"), |p| count(u64::from(p.load.depth))));
    }
    if any(|point| point.offered_rate.is_some()) {
        figures.push(figure(Column::numbers("asked /s"), |p| or_dash(asked_rate(p), show_count)));
    }
    figures.push(figure(Column::numbers("rate /s"), |point| {
        match point.is_of_requests() {
            true => rate_cell(point),
            // Of requests; what stands is said of events and of connections.
            false => or_dash(rate_of(point), show_count),
        }
    }));
    figures.push(figure(Column::numbers("p50"), |point| latency(point, Figure::P50)));
    figures.push(figure(Column::numbers("p99"), |point| latency(point, Figure::P99)));
    if any(|point| point.latency_ns.p99_9.is_some()) {
        figures.push(figure(Column::numbers("p99.9").rank(2), |p| latency(p, Figure::P99_9)));
        figures.push(figure(Column::numbers("max").rank(6), |p| latency(p, Figure::MAX)));
    } else {
        figures.push(figure(Column::numbers("max").rank(2), |p| latency(p, Figure::MAX)));
    }
    figures.extend(rest(points));
    figures
}

fn rest(points: &[Point]) -> Vec<LevelCell> {
    let mut figures = Vec::new();
    if !points.iter().all(is_kept_busy) {
        let in_flight = |p: &Point| or_dash(p.in_flight.mean, show_count);
        figures.push(figure(Column::numbers("in flight").rank(4), in_flight));
    }
    if !points.iter().all(is_served_fully) {
        figures.push(figure(Column::numbers("conns served").rank(3), |point| {
            let (served, asked) = (point.connections.served, point.connections.asked);
            or_dash(rate_of(point), |_| format!("{}/{}", count(served), count(asked)))
        }));
    }
    figures.push(figure(Column::numbers("err"), |point| or_dash(errors(point), count)));
    figures.push(figure(Column::numbers("client us/req"), |point| {
        microseconds(point.cpu.client_us_per_request)
    }));
    if points.iter().any(|point| point.cpu.server_us_per_request.is_some()) {
        figures.push(figure(Column::numbers("server us/req"), |point| {
            microseconds(point.cpu.server_us_per_request)
        }));
    }
    figures.push(figure(Column::words("wall").rank(1), |point| wall_mark(&point.verdict)));
    figures
}

/// Whether the requests in flight were at their limit in a closed loop, to three digits. A note
/// then replaces the column.
fn is_kept_busy(point: &Point) -> bool {
    let limit = point.in_flight.limit as f64;
    let is_near = |mean: f64| (mean - limit).abs() <= limit * 0.005;
    point.load.rate.is_none() && point.in_flight.mean.is_some_and(is_near)
}

/// Whether every connection asked for completed a request.
fn is_served_fully(point: &Point) -> bool {
    point.connections.served == point.connections.asked
}

/// Errors of a point. Failed attempts to connect count even when the window never opened; with none
/// of them, such a point has no figure.
fn errors(point: &Point) -> Option<u64> {
    let requests = &point.requests;
    let errors = requests.failed + requests.unanswered + attempt_errors(point);
    (errors > 0 || rate_of(point).is_some()).then_some(errors)
}

/// Failed connection attempts; they are not requests and are added to them.
fn attempt_errors(point: &Point) -> u64 {
    let of_attempts = ErrorClass::ALL.into_iter().filter(|class| !class.is_of_requests());
    of_attempts.filter_map(|class| point.errors_of(class)).sum()
}

fn notes(run: &Run) -> Vec<String> {
    let points = &run.record.points;
    let mut notes = reservations(run);
    notes.extend(mixed_costs(points));
    if points.iter().any(|point| point.events().is_some()) {
        notes.push("These are the requests of the writers; their rate makes the events.".into());
    }
    if points.iter().all(is_served_fully) {
        let busy = if points.iter().all(is_kept_busy) { " and kept busy throughout" } else { "" };
        notes.push(format!("At every point, all connections were served{busy}."));
    }
    let unsent: u64 = points.iter().map(|point| point.requests.unsent).sum();
    if unsent > 0 {
        let planned: u64 = points.iter().filter_map(|point| point.requests.planned).sum();
        let (unsent, planned) = (count(unsent), count(planned));
        notes.push(format!("{unsent} of {planned} planned requests could not be sent in time."));
    }
    let from = if points.iter().any(|point| point.load.model == LoadModel::Open) {
        "Latency is measured from the planned instant of each request (open loop)."
    } else {
        "Latency is measured from the send (closed loop: a stall delays later sends)."
    };
    notes.push(from.to_string());
    if points.iter().any(|point| point.attempt > 1) {
        notes.push("#2: the second visit of a level.".to_string());
    }
    let coalesced = points.iter().map(|point| point.load.coalesce_ns).max().unwrap_or(0);
    if coalesced > 0 {
        notes.push(format!("Every latency includes up to {} of coalescing.", ns(Some(coalesced))));
    }
    notes
}

/// What CPU time includes where many requests failed: one note per group of points.
fn mixed_costs(points: &[Point]) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for point in points {
        let Some(mixed) = mixed_cost(point) else { continue };
        match groups.iter_mut().find(|group| group.0 == mixed) {
            Some(group) => group.1.push(point_mark(point)),
            None => groups.push((mixed, vec![point_mark(point)])),
        }
    }
    let note = |(mixed, points): (String, Vec<String>)| {
        format!("us/req at {}: CPU time per response, good or not: {mixed}.", points.join(" "))
    };
    groups.into_iter().map(note).collect()
}

/// Why rows are marked: one note per reason, for all its points.
fn reservations(run: &Run) -> Vec<String> {
    let mut groups: Vec<(Mark, String, Vec<String>)> = Vec::new();
    for point in &run.record.points {
        let mark = mark_of(run, point);
        let Some(why) = reservation(run, point, mark) else { continue };
        match groups.iter_mut().find(|group| group.0 == mark && group.1 == why) {
            Some(group) => group.2.push(point_mark(point)),
            None => groups.push((mark, why, vec![point_mark(point)])),
        }
    }
    let note = |(mark, why, points): (Mark, String, Vec<String>)| {
        format!("{} {}: {why}.", mark.symbol(), points.join(" "))
    };
    groups.into_iter().map(note).collect()
}

/// Why a row is marked: the claim on its rate, a partial window, and the figures with bounds.
fn reservation(run: &Run, point: &Point, mark: Mark) -> Option<String> {
    if mark == Mark::None {
        return None;
    }
    let mut whys = match point.claim() {
        Claim::NotKnown(why) => vec![why.to_string()],
        Claim::OfGenerator => {
            vec![format!("the generator is the wall, {}", wall_phrase(&point.verdict))]
        }
        Claim::Known => Vec::new(),
    };
    if rate_of(point).is_none() {
        whys.push("ended before it was measured".to_string());
    } else if is_partial(run, point) {
        whys.push(format!("partial, {:.1}s were measured", point.load.duration_s));
    }
    whys.extend(struck_phrases(point));
    Some(whys.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn last_row(run: &Run) -> Vec<(String, String)> {
        let Block::Table(table) = levels(run).remove(0) else { panic!("a table") };
        let names = table.columns.iter().map(|column| column.title.clone());
        names.zip(table.rows.last().unwrap().cells.clone()).collect()
    }

    #[test]
    fn what_was_not_measured_is_a_dash_and_no_zero() {
        let mut run = fixtures::ramp_interrupted();
        fixtures::unmeasure(run.record.points.last_mut().unwrap());
        let row = last_row(&run);
        for column in ["rate /s", "p50", "p99", "max", "conns served", "err", "client us/req"] {
            let cell = row.iter().find(|(name, _)| name == column).expect(column);
            assert_eq!(cell.1, "-", "{column}");
        }
        assert!(notes(&run).iter().any(|note| note.ends_with("ended before it was measured.")));
        run.record.points.last_mut().unwrap().errors.insert("connect".to_string(), 3);
        assert!(last_row(&run).contains(&("err".to_string(), "3".to_string())));
    }
}
