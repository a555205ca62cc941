//! The full distribution of latency.

use super::tail;
use crate::page::{Axis, Block, Chart, ChartShape, Column, Mark, Series, Table, View};
use crate::wording::{best_point, cell, count, mark_of, ns, or_dash, point_heading};
use crate::wording::{plural, point_mark, point_phrase};
use model::figure::Figure;
use model::histogram::{Histogram, SAMPLES_BEYOND, Summary, rank_of};
use model::run::{Point, Run};
use model::unit::Unit;

/// A figure of a distribution: name, rank of its column, the figure of latency that gates can
/// strike, value.
struct Statistic {
    name: &'static str,
    rank: u8,
    figure: Option<Figure>,
    pick: fn(&Summary) -> Option<u64>,
}

const STATISTICS: &[Statistic] = &[
    Statistic { name: "min", rank: 5, figure: None, pick: |s| s.min },
    Statistic { name: "mean", rank: 2, figure: Some(Figure::MEAN), pick: |s| s.mean },
    Statistic { name: "stdev", rank: 4, figure: None, pick: |s| s.stdev },
    Statistic { name: "p50", rank: 0, figure: Some(Figure::P50), pick: |s| s.p50 },
    Statistic { name: "p75", rank: 7, figure: Some(Figure::P75), pick: |s| s.p75 },
    Statistic { name: "p90", rank: 3, figure: Some(Figure::P90), pick: |s| s.p90 },
    Statistic { name: "p95", rank: 6, figure: Some(Figure::P95), pick: |s| s.p95 },
    Statistic { name: "p99", rank: 0, figure: Some(Figure::P99), pick: |s| s.p99 },
    Statistic { name: "p99.9", rank: 0, figure: Some(Figure::P99_9), pick: |s| s.p99_9 },
    Statistic { name: "p99.99", rank: 1, figure: Some(Figure::P99_99), pick: |s| s.p99_99 },
    Statistic { name: "max", rank: 0, figure: Some(Figure::MAX), pick: |s| s.max },
];

/// What a distribution of a point measures.
struct Measure {
    name: &'static str,
    meaning: &'static str,
    pick: fn(&Point) -> Option<&Summary>,
}

const MEASURES: &[Measure] = &[
    Measure {
        name: LATENCY,
        meaning: "",
        // Devices without requests have no latency, only a time to connect.
        pick: |point| Some(&point.latency_ns).filter(|_| point.asks()),
    },
    Measure {
        name: "staleness",
        meaning: "from the creation of an event to its arrival",
        pick: |point| point.events()?.staleness_ns.as_ref(),
    },
    Measure {
        name: "good only",
        meaning: "latency of good responses only",
        // Without failures this equals the latency.
        pick: |point| {
            let is_other = point.latency_ns.censored > 0 && point.asks();
            point.latency_good_ns.as_ref().filter(|_| is_other)
        },
    },
    Measure {
        name: "at least",
        meaning: "latency with a lower bound for each request that got no response",
        pick: |point| point.latency_at_least_ns.as_ref(),
    },
    Measure {
        name: "service",
        meaning: "from send to response",
        // In a closed loop this equals the latency.
        pick: |point| point.send_delay_ns.as_ref().map(|_| &point.service_ns),
    },
    Measure {
        name: "send delay",
        meaning: "from the planned instant to the send",
        pick: |point| point.send_delay_ns.as_ref(),
    },
    Measure {
        name: "generator delay",
        meaning: "the part of the send delay that is not a wait for a free slot",
        pick: |point| point.generator_delay_ns.as_ref(),
    },
    Measure {
        name: "first message",
        meaning: "from where latency counts to the first message of a reply that streams",
        pick: |point| point.messages.as_ref().map(|messages| &messages.first_ns),
    },
    Measure {
        name: "gap",
        meaning: "from each message of such a reply to the next one; zero if read together",
        pick: |point| point.messages.as_ref().map(|messages| &messages.gap_ns),
    },
    Measure {
        name: "message",
        meaning: "from when a message of a conversation was due to its reply",
        pick: |point| point.messages.as_ref()?.latency_ns.as_ref(),
    },
    Measure {
        name: "connect",
        meaning: "time to connect",
        pick: |point| Some(&point.connections.connect_ns).filter(|summary| summary.count > 0),
    },
    Measure {
        name: "handshake",
        meaning: "from connected to the end of the TLS handshake",
        pick: |point| {
            let times = point.connections.handshakes.handshake_ns.as_ref();
            times.filter(|summary| summary.count > 0)
        },
    },
    Measure {
        name: "settings",
        meaning: "from connected, TLS included, to the server's settings (HTTP/2)",
        pick: |point| {
            let times = point.connections.streams.as_ref().map(|streams| &streams.settings_ns);
            times.filter(|summary| summary.count > 0)
        },
    },
];

/// The measure that has standings.
const LATENCY: &str = "latency";

/// A figure of a point. Where a gate strikes a figure of latency, its bounds stand in its place.
fn figure(point: &Point, measure: &Measure, statistic: &Statistic) -> String {
    let value_ns = (measure.pick)(point).and_then(statistic.pick);
    let standing = statistic.figure.filter(|_| measure.name == LATENCY && value_ns.is_some());
    standing.map_or_else(|| ns(value_ns), |of| cell(point.as_requests(), of))
}

/// Percentiles: one per row for a single point, one row per point otherwise.
pub fn percentiles(run: &Run) -> Vec<Block> {
    match run.record.points.as_slice() {
        [] => Vec::new(),
        [point] => vec![Block::Table(single(run, point))],
        points => MEASURES.iter().filter_map(|measure| several(run, points, measure)).collect(),
    }
}

fn single(run: &Run, point: &Point) -> Table {
    let measures: Vec<(&Measure, &Summary)> =
        MEASURES.iter().filter_map(|measure| Some((measure, (measure.pick)(point)?))).collect();
    let mut columns = vec![Column::words("")];
    columns.extend(measures.iter().map(|(measure, _)| Column::numbers(measure.name)));
    let mut table = Table::new(columns);
    let mut push = |name: &str, cell: &dyn Fn(&Measure, &Summary) -> String| {
        let mut cells = vec![name.to_string()];
        cells.extend(measures.iter().map(|(measure, summary)| cell(measure, summary)));
        table.push(Mark::None, cells);
    };
    for statistic in STATISTICS {
        push(statistic.name, &|measure, _| figure(point, measure, statistic));
    }
    push("count", &|_, summary| count(summary.count));
    if measures.iter().any(|(_, summary)| summary.censored > 0) {
        push("beyond", &|_, summary| count(summary.censored));
    }
    let named = measures.iter().filter(|(measure, _)| !measure.meaning.is_empty());
    let meanings = named.map(|(measure, _)| format!("{}: {}.", measure.name, measure.meaning));
    table.notes.extend(meanings);
    table.notes.extend(notes(run));
    table
}

fn several(run: &Run, points: &[Point], measure: &Measure) -> Option<Block> {
    if points.iter().all(|point| (measure.pick)(point).is_none()) {
        return None;
    }
    let mut columns = vec![Column::numbers(point_heading(run)), Column::numbers("count").rank(8)];
    columns.extend(STATISTICS.iter().map(|s| Column::numbers(s.name).rank(s.rank)));
    let caption = match measure.meaning {
        "" => measure.name.to_string(),
        meaning => format!("{}: {meaning}", measure.name),
    };
    let mut table = Table::new(columns).caption(caption);
    for point in points {
        let summary = (measure.pick)(point);
        let mut cells = vec![point_mark(point), or_dash(summary, |summary| count(summary.count))];
        cells.extend(STATISTICS.iter().map(|statistic| figure(point, measure, statistic)));
        table.push(mark_of(run, point), cells);
    }
    if measure.name == LATENCY {
        table.notes = notes(run);
    }
    Some(Block::Table(table))
}

fn notes(run: &Run) -> Vec<String> {
    let mut notes =
        vec!["A percentile with fewer than ten samples beyond it is not given.".to_string()];
    let censored: u64 = run.record.points.iter().map(|point| point.latency_ns.censored).sum();
    if censored > 0 {
        notes.push(format!(
            "{} without a good response count as slower than all others in every percentile.",
            plural(censored, "request")
        ));
    }
    notes.extend(best_point(run).and_then(|(_, point)| tail::sentence(point)));
    notes
}

/// Percentile curves on an axis where each nine is one step.
pub fn distribution(run: &Run) -> Vec<Block> {
    if run.record.points.is_empty() {
        return Vec::new();
    }
    let with_curve = |(point, histogram)| {
        let view = curve(run, point, histogram);
        (!view.x.is_empty()).then_some(view)
    };
    let points = run.record.points.iter().zip(&run.latencies);
    let views: Vec<View> = points.filter_map(with_curve).collect();
    let is_asked = |point: &Point| point.requests.sent > 0;
    if views.is_empty() && !run.record.points.iter().any(is_asked) {
        return Vec::new();
    }
    if views.is_empty() {
        let text = "The full distributions were not kept with this run.".to_string();
        return vec![Block::Text(text)];
    }
    let best = best_point(run).map(|(_, point)| point_phrase(point));
    let selected = views.iter().position(|view| Some(&view.label) == best.as_ref()).unwrap_or(0);
    vec![Block::Chart(Chart {
        id: "latency-distribution".to_string(),
        title: "Latency distribution".to_string(),
        note: "Each nine is one step to the right. The curve ends where fewer than ten samples \
               lie beyond."
            .to_string(),
        x: Axis::log("percentile", Unit::Nines),
        y: Axis::log("latency", Unit::Ns),
        shape: ChartShape::Lines,
        views,
        selected,
    })]
}

/// Positions per factor of ten of the curve.
const STEPS_PER_NINE: i32 = 24;

/// The distribution of a point. As in the record, requests without a good response count in the
/// ranks, and the curve ends where they begin.
fn curve(run: &Run, point: &Point, histogram: &Histogram) -> View {
    let recorded = histogram.count();
    let population = recorded + point.latency_ns.censored;
    let mut view = View { label: point_phrase(point), ..View::default() };
    view.mark = mark_of(run, point);
    let mut values_ns = Vec::new();
    for step in 0.. {
        let nines = 10_f64.powf(f64::from(step) / f64::from(STEPS_PER_NINE));
        let quantile = 1.0 - 1.0 / nines;
        let rank = rank_of(quantile, population);
        if population as f64 / nines < SAMPLES_BEYOND || rank > recorded {
            break;
        }
        let value_ns = histogram.value_at_rank(rank);
        view.x.push(nines);
        values_ns.push(value_ns.map(|ns| ns as f64));
    }
    view.series = vec![Series { label: "latency".to_string(), y: values_ns }];
    view
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::standing::Standing;

    #[test]
    fn what_gates_strike_has_its_bounds_or_a_question_mark() {
        let mut run = fixtures::load_invalid();
        let why = "the counts do not agree".to_string();
        run.record.points[0].standing.add(Figure::P99, Standing::NotKnown { why });
        let table = |run: &Run| match percentiles(run).remove(0) {
            Block::Table(table) => table,
            other => panic!("{other:?}"),
        };
        let single = table(&run);
        let of = |name: &str| {
            let row = single.rows.iter().find(|row| row.cells[0] == name);
            row.expect(name).cells[1].clone()
        };
        assert_eq!([of("p50"), of("p99"), of("max")], ["1.20ms", "?", "12.0ms..13.0ms"]);
        let again = run.record.points[0].clone();
        run.record.points.push(again);
        let several = table(&run);
        let of = |name: &str| {
            let column = several.columns.iter().position(|column| column.title == name);
            several.rows[1].cells[column.expect(name)].clone()
        };
        assert_eq!([of("p50"), of("p99"), of("max")], ["1.20ms", "?", "12.0ms..13.0ms"]);
    }
}
