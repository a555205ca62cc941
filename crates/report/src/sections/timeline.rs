//! Throughput and latency inside each point, second by second.

use crate::hosts::since_origin_s;
use crate::page::{Axis, Band, Block, Chart, ChartShape, Series, View};
use crate::wording::{best_point, mark_of, point_phrase};
use model::order::OrderBy as _;
use model::run::{Point, Run};
use model::series::Second;
use model::unit::Unit;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Rate and latency over time, one view per point; for devices, the connections established.
pub fn points(run: &Run) -> Vec<Block> {
    if !has_requests(run) {
        return established(run).map(Block::Chart).into_iter().collect();
    }
    let note = "Each second of the measured window; a steady point is a flat line.";
    let rate = chart("rate-over-time", "Throughput over time", note);
    let latency = chart("latency-over-time", "Latency over time", LATENCY_NOTE);
    vec![
        Block::Chart(Chart { y: rate_axis(), ..by_point(run, rate, rates) }),
        Block::Chart(Chart { y: latency_axis(), ..by_point(run, latency, latencies) }),
    ]
}

/// With more tenths of a second than these, whole seconds are drawn.
const TENTHS_MAX: usize = 300;

/// Connections established over time, where there are devices and no requests.
fn established(run: &Run) -> Option<Chart> {
    let devices = run.record.points.iter().filter(|point| point.is_of_devices());
    let view = |point: &Point| {
        let tenths = if point.per_100ms.len() > TENTHS_MAX { 10 } else { 1 };
        // An incomplete last interval would look like a drop.
        let parts = point.per_100ms.chunks_exact(tenths);
        let length_s = tenths as f64 / 10.0;
        let y = parts.map(|part| Some(part.iter().sum::<u64>() as f64 / length_s)).collect();
        let series = Series { label: "established".to_string(), y };
        let x = (1..=series.y.len()).map(|nth| nth as f64 * length_s).collect();
        let (label, mark) = (point_phrase(point), mark_of(run, point));
        View { label, mark, x, series: vec![series], ..View::default() }
    };
    let views: Vec<View> =
        devices.filter(|point| point.per_100ms.iter().any(|count| *count > 0)).map(view).collect();
    let note = "Connections established per second of the measured window.";
    let chart = chart("connections-over-time", "Connections over time", note);
    (!views.is_empty()).then_some(Chart { views, ..chart })
}

/// Responses by status and bytes over time, one view per point. Older records have neither.
pub fn traffic(run: &Run) -> Vec<Block> {
    let mut seconds = run.record.points.iter().flat_map(|point| &point.series);
    let (note, responses): (_, Lines) = match seconds.any(|second| second.status_codes.is_some()) {
        true => ("Complete responses to requests of the window, good or not.", codes),
        false => ("Complete responses of each second by status class, good or not.", classes),
    };
    let statuses = chart("statuses-over-time", "Responses by status over time", note);
    let note =
        "Bytes of requests and complete responses: heads, framing, bodies; before encryption.";
    let bytes = chart("bytes-over-time", "Bytes over time", note);
    let drawn = [
        Chart { y: rate_axis(), ..by_point(run, statuses, responses) },
        Chart { y: Axis::linear("bytes", Unit::BytesPerSecond), ..by_point(run, bytes, volumes) },
    ];
    let is_there = |chart: &Chart| chart.views.iter().any(|view| !view.series.is_empty());
    drawn.into_iter().filter(is_there).map(Block::Chart).collect()
}

/// Rate and latency over the time of the whole run, for runs of several points.
pub fn whole_run(run: &Run) -> Vec<Block> {
    let mut points: Vec<&Point> =
        run.record.points.iter().filter(|point| !point.series.is_empty()).collect();
    points.order_by_key(|point| point.window_ns);
    let follow = |two: &[&Point]| two[0].window_ns.1 <= two[1].window_ns.0;
    if points.len() < 2 || !has_requests(run) || !points.windows(2).all(follow) {
        return Vec::new();
    }
    let note = "All points in sequence. The bars on top are measured windows.";
    let rate = chart("rate-over-run", "Throughput over the whole run", note);
    let latency = chart("latency-over-run", "Latency over the whole run", LATENCY_NOTE);
    let views = |series: Lines| vec![over_run(run, joined(run, &points, series))];
    vec![
        Block::Chart(Chart { y: rate_axis(), views: views(rates), ..rate }),
        Block::Chart(Chart { y: latency_axis(), views: views(latencies), ..latency }),
    ]
}

/// The best point of each run over the seconds of its window, one line per run.
pub(super) fn of_runs(runs: &[(String, &Run)]) -> Vec<Block> {
    let best = |(name, run): &(String, &Run)| Some((name.clone(), best_point(run)?.1.clone()));
    let best: Vec<(String, Point)> =
        runs.iter().filter_map(best).filter(|(_, point)| point.requests.sent > 0).collect();
    let seconds = best.iter().map(|(_, point)| point.series.len()).max().unwrap_or(0);
    if best.len() < 2 || seconds == 0 {
        return Vec::new();
    }
    // Only the last second of a window can be shorter: whole seconds are drawn at the same place.
    let longest = best.iter().find(|(_, point)| point.series.len() == seconds);
    let x = longest.map_or(Vec::new(), |(_, point)| ends_s(&point.series));
    let view = |series: Lines, wanted: &str| {
        let line = |(name, point): &(String, Point)| {
            let mut line = series(&point.series).into_iter().find(|line| line.label == wanted)?;
            line.y.resize(seconds, None);
            line.label = format!("{name}: {wanted}, {}", point_phrase(point));
            Some(line)
        };
        let series = best.iter().filter_map(line).collect();
        vec![View { label: "best points".to_string(), x: x.clone(), series, ..View::default() }]
    };
    let note = "The best point of each run, second by second.";
    let rate = chart("rate-over-time", "Throughput over time", note);
    let latency = chart("latency-over-time", "p99 over time", LATENCY_NOTE);
    vec![
        Block::Chart(Chart { y: rate_axis(), views: view(rates, "completed"), ..rate }),
        Block::Chart(Chart { y: latency_axis(), views: view(latencies, "p99"), ..latency }),
    ]
}

/// The measured window of each point.
pub(super) fn windows(run: &Run) -> Vec<Band> {
    let band = |point| Band {
        label: point_phrase(point),
        from: since_origin_s(run, point.window_ns.0),
        to: since_origin_s(run, point.window_ns.1),
        mark: mark_of(run, point),
    };
    run.record.points.iter().map(band).collect()
}

/// One view over the time of the run, with the measured windows as bands.
pub(super) fn over_run(run: &Run, (x, series): (Vec<f64>, Vec<Series>)) -> View {
    let bands = windows(run);
    View { x, series, bands, ..View::default() }
}

/// The lines that are drawn from the seconds of a window.
type Lines = fn(&[Second]) -> Vec<Series>;

/// A count of a second, if it has one.
type Count = fn(&Second) -> Option<u64>;

const LATENCY_NOTE: &str = "For the requests completed in each second. A percentile with fewer \
    than ten samples beyond it is not drawn.";

/// Whether there are requests; connections without requests have no throughput or latency.
fn has_requests(run: &Run) -> bool {
    run.record.points.iter().any(|point| !point.series.is_empty() && point.requests.sent > 0)
}

fn rate_axis() -> Axis {
    Axis::linear("rate", Unit::PerSecond)
}

fn latency_axis() -> Axis {
    Axis::log("latency", Unit::Ns)
}

/// A chart over time without views.
pub(super) fn chart(id: &str, title: &str, note: &str) -> Chart {
    Chart {
        id: id.to_string(),
        title: title.to_string(),
        note: note.to_string(),
        x: Axis::linear("time", Unit::Seconds),
        y: rate_axis(),
        shape: ChartShape::Lines,
        views: Vec::new(),
        selected: 0,
    }
}

fn by_point(run: &Run, chart: Chart, series: Lines) -> Chart {
    let points = &run.record.points;
    let views = points.iter().map(|point| view_of(run, point, &point.series, series)).collect();
    Chart { views, selected: best_point(run).map_or(0, |(index, _)| index), ..chart }
}

/// The lines of consecutive points over the time of the run, with a gap before each point.
fn joined(run: &Run, points: &[&Point], series: Lines) -> (Vec<f64>, Vec<Series>) {
    let (mut x, mut lines) = (Vec::new(), Vec::<Series>::new());
    for point in points {
        let begin_s = since_origin_s(run, point.window_ns.0);
        let before = x.len();
        x.push(begin_s);
        x.extend(point.series.iter().map(|second| begin_s + second.t_s));
        for line in series(&point.series) {
            let at = lines.iter().position(|known| known.label == line.label);
            let at = at.unwrap_or_else(|| {
                lines.push(Series { label: line.label.clone(), y: Vec::new() });
                lines.len() - 1
            });
            lines[at].y.resize(before + 1, None);
            lines[at].y.extend(line.y);
        }
    }
    lines.iter_mut().for_each(|line| line.y.resize(x.len(), None));
    (x, lines)
}

fn ends_s(seconds: &[Second]) -> Vec<f64> {
    seconds.iter().map(|second| second.t_s).collect()
}

/// One view of a point with these lines.
pub(super) fn view_of(
    run: &Run,
    point: &Point,
    seconds: &[Second],
    series: fn(&[Second]) -> Vec<Series>,
) -> View {
    View {
        label: point_phrase(point),
        mark: mark_of(run, point),
        x: ends_s(seconds),
        series: series(seconds),
        ..View::default()
    }
}

/// Rates of completed requests and, if there are any, of failed requests.
pub(super) fn rates(seconds: &[Second]) -> Vec<Series> {
    let mut series = vec![per_second("completed", seconds, |second| Some(second.completed))];
    if seconds.iter().any(|second| second.failed > 0) {
        series.push(per_second("failed", seconds, |second| Some(second.failed)));
    }
    series
}

/// Status codes with a line of their own; the others are summed.
const CODES_MAX: usize = 7;

/// Responses of each status code, the most frequent first.
fn codes(seconds: &[Second]) -> Vec<Series> {
    let mut sums = BTreeMap::<&str, u64>::new();
    for (code, count) in seconds.iter().filter_map(|second| second.status_codes.as_ref()).flatten()
    {
        *sums.entry(code).or_default() += count;
    }
    let mut codes: Vec<(&str, u64)> = sums.into_iter().collect();
    codes.order_by_key(|(_, count)| Reverse(*count));
    let others = codes.split_off(codes.len().min(CODES_MAX));
    let among = |codes: &[(&str, u64)], second: &Second| {
        let counts = second.status_codes.as_ref()?;
        Some(codes.iter().filter_map(|(code, _)| counts.get(*code)).sum())
    };
    let line = |label: &str, codes: &[(&str, u64)]| {
        per_second(label, seconds, |second| among(codes, second))
    };
    let mut lines: Vec<Series> =
        codes.iter().map(|one| line(one.0, std::slice::from_ref(one))).collect();
    if !others.is_empty() {
        lines.push(line("others", &others));
    }
    lines
}

/// Responses of each status class that occurred.
fn classes(seconds: &[Second]) -> Vec<Series> {
    let class = |(label, pick): (&str, Count)| {
        let is_any = seconds.iter().any(|second| pick(second).is_some_and(|count| count > 0));
        is_any.then(|| per_second(label, seconds, pick))
    };
    let classes: [(&str, Count); 4] = [
        ("2xx", |second| Some(second.status?[0])),
        ("3xx", |second| Some(second.status?[1])),
        ("4xx", |second| Some(second.status?[2])),
        ("5xx", |second| Some(second.status?[3])),
    ];
    classes.into_iter().filter_map(class).collect()
}

/// Bytes in both directions, where any were counted.
fn volumes(seconds: &[Second]) -> Vec<Series> {
    let bytes = |second: &Second| second.bytes_received.max(second.bytes_sent);
    if seconds.iter().all(|second| bytes(second).unwrap_or(0) == 0) {
        return Vec::new();
    }
    vec![
        per_second("received", seconds, |second| second.bytes_received),
        per_second("sent", seconds, |second| second.bytes_sent),
    ]
}

/// A count of each second as a rate. The last entry may be shorter than a second; dividing by its
/// length keeps it from looking like a drop.
fn per_second(label: &str, seconds: &[Second], pick: impl Fn(&Second) -> Option<u64>) -> Series {
    let mut before_s = 0.0;
    let rate = |second: &Second| {
        let length_s = second.t_s - std::mem::replace(&mut before_s, second.t_s);
        pick(second).filter(|_| length_s > 0.0).map(|count| count as f64 / length_s)
    };
    Series { label: label.to_string(), y: seconds.iter().map(rate).collect() }
}

/// Median and 99th percentile of each second.
pub(super) fn latencies(seconds: &[Second]) -> Vec<Series> {
    let series = |label: &str, pick: fn(&Second) -> Option<u64>| Series {
        label: label.to_string(),
        y: seconds.iter().map(|second| pick(second).map(|ns| ns as f64)).collect(),
    };
    let both = [series("p50", |second| second.p50_ns), series("p99", |second| second.p99_ns)];
    both.into_iter().filter(|line| line.y.iter().any(Option::is_some)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn charts(blocks: Vec<Block>) -> Vec<Chart> {
        let chart = |block| if let Block::Chart(chart) = block { Some(chart) } else { None };
        blocks.into_iter().filter_map(chart).collect()
    }

    #[test]
    fn the_whole_run_has_a_gap_before_each_point() {
        let run = fixtures::ramp_quota();
        let drawn = charts(whole_run(&run));
        let points = run.record.points.len();
        for chart in &drawn {
            let view = &chart.views[0];
            assert_eq!(view.bands.len(), points, "{}", chart.id);
            let gaps = view.series[0].y.iter().filter(|y| y.is_none()).count();
            assert_eq!(gaps, points, "{}", chart.id);
        }
        assert_eq!(drawn.len(), 2);
        assert!(whole_run(&fixtures::load_failing()).is_empty(), "one point is drawn already");
    }

    #[test]
    fn devices_without_requests_have_their_connections_over_time() {
        let mut run = fixtures::ramp_quota();
        run.record.points.truncate(1);
        let point = &mut run.record.points[0];
        (point.requests.sent, point.per_100ms) = (0, vec![3, 0, 5]);
        assert!(points(&run).is_empty(), "no devices");
        let mut run = fixtures::churn_turnover();
        run.record.points[0].per_100ms = vec![3, 0, 5];
        let drawn = charts(points(&run));
        let view = &drawn[0].views[0];
        assert_eq!(view.series[0].y, [Some(30.0), Some(0.0), Some(50.0)]);
        assert!((view.x[2] - 0.3).abs() < 1e-9);
        run.record.points[0].per_100ms = vec![1; 605];
        assert_eq!(charts(points(&run))[0].views[0].series[0].y, [Some(10.0); 60]);
    }

    #[test]
    fn statuses_and_bytes_are_drawn_where_the_record_has_them() {
        let mut run = fixtures::ramp_quota();
        run.record.points[0].series[1].status = Some([5, 0, 0, 9]);
        let drawn = charts(traffic(&run));
        assert_eq!(drawn.len(), 2);
        let labels = |view: &View| -> Vec<String> {
            view.series.iter().map(|series| series.label.clone()).collect()
        };
        assert_eq!(labels(&drawn[0].views[0]), ["2xx", "5xx"]);
        assert_eq!(drawn[0].views[0].series[1].y[1], Some(9.0));
        assert_eq!(labels(&drawn[1].views[0]), ["received", "sent"]);
        let codes = [("200", 40), ("503", 9)].map(|(code, count)| (code.to_string(), count));
        run.record.points[0].series[1].status_codes = Some(codes.into());
        let exact = &charts(traffic(&run))[0].views[0].series;
        assert_eq!(
            exact.iter().map(|line| line.label.as_str()).collect::<Vec<_>>(),
            ["200", "503"]
        );
        assert_eq!(exact[1].y[..2], [None, Some(9.0)], "absent in a second, not zero");
        run.record.points[0].series[1].status_codes = None;
        for second in run.record.points.iter_mut().flat_map(|point| &mut point.series) {
            (second.status, second.bytes_received, second.bytes_sent) = (None, None, None);
        }
        assert!(traffic(&run).is_empty(), "an older record");
    }
}
