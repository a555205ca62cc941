//! Events: how many arrived, the share of those expected, and how stale they were.

use super::Detail;
use super::levels::{self, About};
use super::timeline;
use crate::page::{Axis, Block, Chart, ChartShape, Table};
use crate::wording::{best_point, count, ns, plural, point_mark};
use model::fanout::EventInfo;
use model::run::{Point, Run};
use model::unit::Unit;

/// The points that have events.
fn with_events(run: &Run) -> Vec<(&Point, &EventInfo)> {
    let points = run.record.points.iter();
    points.filter_map(|point| Some((point, point.events()?))).collect()
}

/// One row per point with subscribers; nothing when there is none.
pub fn table(run: &Run) -> Vec<Block> {
    let rows = with_events(run);
    if rows.is_empty() {
        return Vec::new();
    }
    let mut notes: Vec<String> = Vec::new();
    for (point, events) in rows {
        for note in self::notes(point, events) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let table = levels::table(run, About::Events, Detail::Evidence);
    table.map(|table| Block::Table(Table { notes, ..table })).into_iter().collect()
}

fn notes(point: &Point, events: &EventInfo) -> Vec<String> {
    let mut notes = Vec::new();
    let absent = |what: &str, why: &Option<String>| {
        why.as_ref().map(|why| format!("{what} is not known: {why}."))
    };
    notes.extend(absent("Delivery", &events.delivery_absent));
    notes.extend(absent("Staleness", &events.staleness_absent));
    if let Some(error_ns) = events.staleness_error_ns.filter(|error_ns| *error_ns > 0) {
        notes.push(format!(
            "Staleness is measured with the clocks of two hosts, and off by at most {}.",
            ns(Some(error_ns))
        ));
    }
    if events.early > 0 {
        let early = plural(events.early, "event");
        notes.push(format!(
            "{early} arrived before their creation by the two clocks and are in no percentile."
        ));
    }
    if events.repeated > 0 {
        let repeated = plural(events.repeated, "event");
        notes.push(format!("{repeated} had a number that was not above the previous one."));
    }
    if let Some(delivery) = events.delivery.filter(|delivery| delivery.late > 0) {
        let late = plural(delivery.late, "event");
        notes.push(format!("{late} of the window arrived after its end and count as delivered."));
    }
    let subscribers = &events.subscribers;
    let away = subscribers.asked.saturating_sub(subscribers.accepted);
    if away > 0 || subscribers.refused > 0 {
        notes.push(format!(
            "{} subscribers: {} opened, {} accepted, {} refused with a status other than 200.",
            point_mark(point),
            count(subscribers.opened),
            count(subscribers.accepted),
            count(subscribers.refused)
        ));
    }
    if let (Some(min), Some(max)) = (events.each.min, events.each.max) {
        let streams = plural(events.streams, "stream");
        let each = match min == max {
            true => count(min),
            false => format!("{} to {}", count(min), count(max)),
        };
        let mark = point_mark(point);
        notes.push(format!("{mark} subscribers of {streams} received {each} events each."));
    }
    notes
}

/// Events and their staleness over time, one view per point.
pub fn charts(run: &Run) -> Vec<Block> {
    let rows = with_events(run);
    if rows.iter().all(|(_, events)| events.received == 0) {
        return Vec::new();
    }
    let chart = |id: &str, title: &str, note: &str, y, series| Chart {
        id: id.to_string(),
        title: title.to_string(),
        note: note.to_string(),
        x: Axis::linear("time", Unit::Seconds),
        y,
        shape: ChartShape::Lines,
        views: rows
            .iter()
            .map(|(point, events)| timeline::view_of(run, point, &events.series, series))
            .collect(),
        selected: best_point(run).map_or(0, |(index, _)| index).min(rows.len() - 1),
    };
    let rate = chart(
        "events-over-time",
        "Events over time",
        "Events received by all subscribers together, each second of the measured window.",
        Axis::linear("events", Unit::PerSecond),
        timeline::rates,
    );
    let staleness = chart(
        "staleness-over-time",
        "Staleness over time",
        "From the creation of an event to its arrival, for the events of each second.",
        Axis::log("staleness", Unit::Ns),
        timeline::latencies,
    );
    let is_known = rows.iter().any(|(_, events)| events.staleness_ns.is_some());
    let charts = [Some(rate), Some(staleness).filter(|_| is_known)];
    charts.into_iter().flatten().map(Block::Chart).collect()
}
