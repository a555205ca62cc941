//! The tables with a row for each visit of a level.

use super::Detail;
use crate::page::{Block, Column, Mark, Table};
use crate::text::spark::bar;
use crate::wording::{
    asked_rate, cell, count, failed, is_partial, mark_of, missing_cell, mixed_cost, ns, or_dash,
    point_mark, rate_of, struck_phrases, wall_mark, wall_phrase,
};
use figures::book::{OF_LEVELS, Place, measured};
use figures::value_in;
use model::claim::Claim;
use model::figure::Figure;
use model::load::LoadModel;
use model::run::{Point, Run, TurnoverInfo};
use model::subject::Account;
use model::tick::ErrorClass;
use model::units::show_count;

/// What the rows of a table are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Requests; in a fan-out, those of the writers.
    Requests,
    /// Connections that come and go, or are held.
    Connections,
    /// Events of subscribers, and whatever else the server sends by itself.
    Events,
}

impl About {
    /// What these points are about.
    pub(crate) fn of(points: &[Point]) -> Self {
        match points {
            _ if points.iter().any(Point::is_of_arrivals) => Self::Events,
            [_, ..] if points.iter().all(Point::is_of_devices) => Self::Connections,
            _ => Self::Requests,
        }
    }

    /// The points with it.
    fn rows(self, points: &[Point]) -> Vec<Account<'_>> {
        let of = |point| match self {
            Self::Requests => Some(Point::as_requests(point)),
            Self::Connections => point.as_connections(),
            Self::Events => point.is_of_arrivals().then(|| point.main()),
        };
        points.iter().filter_map(of).collect()
    }
}

/// A column and how to fill it.
struct LevelColumn {
    column: Column,
    /// The figure of a host that it shows.
    of_host: Option<Figure>,
    cell: Box<dyn Fn(Account<'_>) -> String>,
}

fn filled(column: Column, cell: impl Fn(Account<'_>) -> String + 'static) -> LevelColumn {
    LevelColumn { column, of_host: None, cell: Box::new(cell) }
}

/// A row for each level that has what the table is about: its load, the figures of the book, and
/// what only it counts. From `Detail::Evidence` on there are more columns.
pub(crate) fn table(run: &Run, about: About, detail: Detail) -> Option<Table> {
    let rows = about.rows(&run.record.points);
    let mut columns = load_columns(&rows);
    columns.extend(figure_columns(&rows, about, detail));
    columns.extend(counted(&rows, about, detail));
    let mut table = Table::new(columns.iter().map(|column| column.column.clone()).collect());
    for of in &rows {
        let cells = columns.iter().map(|column| (column.cell)(*of)).collect();
        table.push(mark_of(run, of.point), cells);
    }
    (!rows.is_empty()).then_some(table)
}

/// The figures of a point with their names: `rate 48.2k/s`, `p50 1.20ms`.
pub(crate) fn phrases(point: &Point) -> Vec<String> {
    let (points, about) = (std::slice::from_ref(point), About::of(std::slice::from_ref(point)));
    let rows = about.rows(points);
    let Some(of) = rows.first() else { return Vec::new() };
    let mut columns = figure_columns(&rows, about, Detail::Summary);
    columns.extend(counted(&rows, about, Detail::Summary));
    let named = columns.iter().filter(|column| !column.column.title.is_empty());
    let phrase = |column: &LevelColumn| {
        let (title, cell) = (&column.column.title, (column.cell)(*of));
        let of_host = column.of_host.and_then(|figure| Some((figure, measured(point, figure)?)));
        match (of_host, title.strip_suffix("/s")) {
            (Some((figure, value)), _) => format!("{} {}", figure.name(), figure.show(value)),
            (None, Some(name)) => format!("{name} {cell}/s"),
            (None, None) => format!("{title} {cell}"),
        }
    };
    named.map(phrase).collect()
}

/// Whether a table has the columns of `-v`.
fn is_full(detail: Detail) -> bool {
    detail >= Detail::Evidence
}

/// The rate of what is due: requests, or users, connections and writes.
fn asks(point: &Point) -> Option<f64> {
    let is_other = !point.asks() || point.plans_users();
    asked_rate(point).or(point.load.rate.filter(|_| is_other))
}

fn load_columns(rows: &[Account<'_>]) -> Vec<LevelColumn> {
    let any = |has: fn(&Point) -> bool| rows.iter().any(|of| has(of.point));
    let heading = rows.first().map_or("conns", |of| of.point.main().words().heading);
    let mut columns = vec![filled(Column::numbers(heading), |of| {
        let point = of.point;
        let visit = if point.attempt > 1 { format!("#{}", point.attempt) } else { String::new() };
        format!("{}{visit}", count(u64::from(point.load.connections)))
    })];
    if any(|point| point.load.depth > 1) {
        let depth = |of: Account<'_>| count(u64::from(of.point.load.depth));
        columns.push(filled(Column::numbers("depth"), depth));
    }
    if rows.iter().any(|of| asks(of.point).is_some()) {
        let asked = |of: Account<'_>| or_dash(asks(of.point), show_count);
        columns.push(filled(Column::numbers("asked/s"), asked));
    }
    columns
}

/// Those of the book.
fn figure_columns(rows: &[Account<'_>], about: About, detail: Detail) -> Vec<LevelColumn> {
    let words = rows.first().map(|of| of.words());
    let (mut columns, mut has_times) = (Vec::new(), false);
    for place in OF_LEVELS.iter().filter(|place| is_full(detail) || !place.is_detail) {
        let figure = shown_at(place, rows);
        let is_there = |of: &Account<'_>| value_in(*of, figure).is_some();
        if place.rank > 0 && !rows.iter().any(is_there) {
            continue;
        }
        let title = match words {
            Some(words) if figure == Figure::Rate => words.rate.to_string(),
            Some(words) if figure.is_time() && !has_times => {
                format!("{}{}", words.times_are, figure.heading())
            }
            _ => figure.heading().to_string(),
        };
        has_times |= figure.is_time();
        let column = Column::numbers(&title).rank(place.rank);
        let filled_column = filled(column, move |of| match of.point.is_held() {
            true if figure == Figure::Rate => count(of.point.connections.opened),
            _ => cell(of, figure),
        });
        let of_host = Some(figure).filter(|one| matches!(one, Figure::Host(..)));
        columns.push(LevelColumn { of_host, ..filled_column });
        if figure == Figure::Rate && about == About::Requests && !is_full(detail) {
            let rates = rows.iter().filter_map(|of| rate_of(of.point));
            let most = rates.max_by(f64::total_cmp).unwrap_or(0.0).max(1.0);
            columns.push(filled(Column::words("").rank(7), move |of| {
                rate_of(of.point).map_or_else(String::new, |rate| bar(rate / most, BAR))
            }));
        }
    }
    columns
}

/// The figure that a place shows of these rows: of two, the one that is larger at any of them.
fn shown_at(place: &Place, rows: &[Account<'_>]) -> Figure {
    let values = |figure| rows.iter().filter_map(move |of| measured(of.point, figure));
    let most = |figure| values(figure).max_by(f64::total_cmp);
    place.or.filter(|or| most(*or) > most(place.figure)).unwrap_or(place.figure)
}

/// Columns of a bar.
const BAR: usize = 9;

/// What only one kind of rows counts.
fn counted(rows: &[Account<'_>], about: About, detail: Detail) -> Vec<LevelColumn> {
    let mut columns = Vec::new();
    let numbers = |title: &str, rank: u8, cell: fn(Account<'_>) -> String| {
        filled(Column::numbers(title).rank(rank), cell)
    };
    if about == About::Events {
        columns.push(numbers("missing", 5, |of| missing_cell(of.point, |some, _| count(some))));
        columns.push(numbers("lost", 2, |of| {
            or_dash(of.point.events(), |events| count(events.subscribers.lost))
        }));
        return columns;
    }
    let points = || rows.iter().map(|of| of.point);
    if about == About::Requests && is_full(detail) {
        if !points().all(is_kept_busy) {
            let in_flight = |of: Account<'_>| or_dash(of.point.in_flight.mean, show_count);
            columns.push(numbers("in flight", 4, in_flight));
        }
        if !points().all(is_served_fully) {
            columns.push(numbers("conns served", 3, |of| {
                let (served, asked) = (of.point.connections.served, of.point.connections.asked);
                or_dash(rate_of(of.point), |_| format!("{}/{}", count(served), count(asked)))
            }));
        }
    }
    let failures: fn(Account<'_>) -> String = |of| or_dash(rate_of(of.point), |_| failed(of));
    columns.push(numbers("failed", 0, failures));
    if about == About::Requests && points().any(|point| point.requests.unsent > 0) {
        columns.push(numbers("unsent", 1, |of| count(of.point.requests.unsent)));
    }
    if is_full(detail) {
        columns.push(match about {
            About::Requests => numbers("err", 2, |of| or_dash(errors(of.point), count)),
            _ => numbers("err", 2, |of| count(of.failures().0)),
        });
    }
    match about {
        About::Connections if is_full(detail) => {
            let turnover = |of: Account<'_>, pick: fn(&TurnoverInfo) -> Option<u64>| {
                or_dash(of.point.turnover().and_then(pick), count)
            };
            let of_turnover = |title: &str, rank: u8, pick: fn(&TurnoverInfo) -> Option<u64>| {
                filled(Column::numbers(title).rank(rank), move |of| turnover(of, pick))
            };
            if points().any(|point| point.starts().is_some()) {
                columns.push(of_turnover("unsent", 2, |one| Some(one.starts.as_ref()?.unsent)));
            }
            let are_held = points().all(Point::is_held);
            if !are_held {
                columns.push(of_turnover("opened", 1, |one| Some(one.established)));
                columns.push(of_turnover("closed by us", 2, |one| Some(one.closed_by_us)));
            }
            let by_peer = if are_held { "lost" } else { "by peer" };
            columns.push(of_turnover(by_peer, 2, |one| Some(one.closed_by_peer)));
        }
        About::Requests if is_full(detail) => {
            let wall = |of: Account<'_>| wall_mark(&of.point.verdict);
            columns.push(filled(Column::words("wall").rank(1), wall));
        }
        _ => {}
    }
    columns
}

/// The levels of requests; columns without information in this run are left out.
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
    let table = table(run, About::Requests, Detail::Evidence);
    table.map(|table| Block::Table(Table { notes: notes(run), ..table })).into_iter().collect()
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
    if points.iter().any(Point::is_of_arrivals) {
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
        for column in ["rate/s", "p50", "p99", "max", "conns served", "err", "client us"] {
            let cell = row.iter().find(|(name, _)| name == column).expect(column);
            assert_eq!(cell.1, "-", "{column}");
        }
        assert!(notes(&run).iter().any(|note| note.ends_with("ended before it was measured.")));
        run.record.points.last_mut().unwrap().errors.insert("connect".to_string(), 3);
        assert!(last_row(&run).contains(&("err".to_string(), "3".to_string())));
    }
}
