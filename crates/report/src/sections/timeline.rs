//! Throughput and latency inside each point, second by second.

use crate::page::{Axis, Block, Chart, ChartShape, Series, Unit, View};
use crate::wording::{best_point, mark_of, point_phrase};
use model::run::{Point, Run};
use model::series::Second;

/// Rate and latency over time, one view per point.
pub fn points(run: &Run) -> Vec<Block> {
    let points = &run.record.points;
    // Connections without requests have neither throughput nor latency.
    if points.iter().all(|point| point.series.is_empty() || point.requests.sent == 0) {
        return Vec::new();
    }
    let selected = best_point(run).map_or(0, |(index, _)| index);
    let views = |series: fn(&[Second]) -> Vec<Series>| -> Vec<View> {
        points.iter().map(|point| view_of(run, point, &point.series, series)).collect()
    };
    let rate = Chart {
        id: "rate-over-time".to_string(),
        title: "Throughput over time".to_string(),
        note: "Each second of the measured window; a steady point is a flat line.".to_string(),
        x: Axis::linear("time", Unit::Seconds),
        y: Axis::linear("rate", Unit::PerSecond),
        shape: ChartShape::Lines,
        views: views(rates),
        selected,
    };
    let latency = Chart {
        id: "latency-over-time".to_string(),
        title: "Latency over time".to_string(),
        note: "Of the requests completed in each second.".to_string(),
        x: Axis::linear("time", Unit::Seconds),
        y: Axis::log("latency", Unit::Ns),
        shape: ChartShape::Lines,
        views: views(latencies),
        selected,
    };
    vec![Block::Chart(rate), Block::Chart(latency)]
}

/// What the seconds of a point hold, drawn as these lines.
pub(super) fn view_of(
    run: &Run,
    point: &Point,
    seconds: &[Second],
    series: fn(&[Second]) -> Vec<Series>,
) -> View {
    View {
        label: point_phrase(point),
        mark: mark_of(run, point),
        x: seconds.iter().map(|second| second.t_s).collect(),
        series: series(seconds),
        ..View::default()
    }
}

/// Per-second rates. The last entry may be shorter than a second; dividing by its own length
/// keeps it from looking like a drop.
pub(super) fn rates(seconds: &[Second]) -> Vec<Series> {
    let mut lengths_s = Vec::with_capacity(seconds.len());
    let mut before_s = 0.0;
    for second in seconds {
        lengths_s.push(second.t_s - before_s);
        before_s = second.t_s;
    }
    let per_second = |pick: fn(&Second) -> u64| -> Vec<Option<f64>> {
        let rate = |(second, length_s): (&Second, &f64)| {
            (*length_s > 0.0).then(|| pick(second) as f64 / length_s)
        };
        seconds.iter().zip(&lengths_s).map(rate).collect()
    };
    let mut series =
        vec![Series { label: "completed".to_string(), y: per_second(|second| second.completed) }];
    if seconds.iter().any(|second| second.failed > 0) {
        series.push(Series { label: "failed".to_string(), y: per_second(|s| s.failed) });
    }
    series
}

/// Median and 99th percentile of each second.
pub(super) fn latencies(seconds: &[Second]) -> Vec<Series> {
    let series = |label: &str, pick: fn(&Second) -> Option<u64>| Series {
        label: label.to_string(),
        y: seconds.iter().map(|second| pick(second).map(|ns| ns as f64)).collect(),
    };
    vec![series("p50", |second| second.p50_ns), series("p99", |second| second.p99_ns)]
}
