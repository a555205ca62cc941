//! The visits in the order they were made, and the use of the hosts' CPUs during them. This shows
//! drifts, other programs, and pauses.
//!
//! Visits are placed by the clock of the generator's readings, which all runs of one boot share.
//! Where it disagrees with the time of day, the host restarted or slept in between, and the time of
//! day is used instead.

use super::visited::{counted_visits, visit_name};
use super::visits::value_of;
use crate::hosts::{FAR, near, origin_ns, since_origin_s};
use crate::page::{Axis, Band, Block, Chart, ChartShape, Limit, Mark, Series, View};
use crate::wording::best_point;
use jiff::Timestamp;
use model::experiment::{Design, Experiment};
use model::figure::Figure;
use model::order::OrderBy as _;
use model::reading::Reading;
use model::run::Run;
use model::unit::Unit;
use model::units::NS_PER_S;
use observe::{Clocked, Line, Place, Process, Timeline};
use std::collections::BTreeMap;

/// Clock and time of day agree when they differ by less: start times have a resolution of 1 s.
const AGREE_S: f64 = 3.0;
/// Most values of one line.
const VALUES_MAX: usize = 1500;

/// Experiments shorter than this, in minutes, are drawn in seconds.
const SHORT_MIN: f64 = 3.0;

/// A run and its start, seconds after the start of the first.
struct Placed<'a> {
    name: String,
    cell: &'a str,
    run: &'a Run,
    begin_s: f64,
}

/// The rate of each visit over time, and the CPUs below it; nothing without two visits.
pub(super) fn charts(of: &Experiment, design: &Design, runs: &[Option<Run>]) -> Vec<Block> {
    let placed = placed(of, runs);
    let Some(last) = placed.last().filter(|_| placed.len() > 1) else { return Vec::new() };
    let end = minutes(last, last_ns(last.run));
    let charts = [rates(of, design, &placed, end), busy(&placed, end)];
    let charts = charts.map(|chart| if end < SHORT_MIN { in_seconds(chart) } else { chart });
    let is_drawn = |chart: &Chart| !chart.views[0].series.is_empty();
    charts.into_iter().filter(is_drawn).map(Block::Chart).collect()
}

/// The chart with its time in seconds.
fn in_seconds(mut chart: Chart) -> Chart {
    chart.x.unit = Unit::Seconds;
    for view in &mut chart.views {
        view.x.iter_mut().for_each(|at| *at *= 60.0);
        view.bands.iter_mut().for_each(|band| {
            (band.from, band.to) = (band.from * 60.0, band.to * 60.0);
        });
    }
    chart
}

fn placed<'a>(of: &'a Experiment, runs: &'a [Option<Run>]) -> Vec<Placed<'a>> {
    let mut placed: Vec<Placed<'a>> = Vec::new();
    for (cell, run) in counted_visits(of, runs) {
        let Some(run) = run else { continue };
        let begin_s =
            placed.last().map_or(0.0, |before| before.begin_s + passed_s(before.run, run));
        placed.push(Placed { name: visit_name(cell), cell: &cell.name, run, begin_s });
    }
    placed
}

/// Seconds from the start of one run to the start of a later one.
fn passed_s(before: &Run, after: &Run) -> f64 {
    let by_clock = (origin_ns(after) as f64 - origin_ns(before) as f64) / NS_PER_S as f64;
    let started = |run: &Run| run.record.started_at.parse::<Timestamp>().ok();
    let by_day = started(before)
        .zip(started(after))
        .map(|(before, after)| (after.as_millisecond() - before.as_millisecond()) as f64 / 1000.0);
    match by_day {
        Some(by_day) if (by_day - by_clock).abs() > AGREE_S => by_day.max(0.0),
        _ => by_clock.max(0.0),
    }
}

/// An instant of a run, in minutes after the start of the first run.
fn minutes(placed: &Placed<'_>, at_ns: u64) -> f64 {
    (placed.begin_s + since_origin_s(placed.run, at_ns)) / 60.0
}

fn last_ns(run: &Run) -> u64 {
    let reading = run.readings.last().map(|reading| reading.end_ns);
    let window = run.record.points.iter().map(|point| point.window_ns.1).max();
    reading.max(window).unwrap_or(0)
}

/// From the start of the first measured window of a run to the end of the last.
fn measured(run: &Run) -> (u64, u64) {
    let windows = || run.record.points.iter().map(|point| point.window_ns);
    let begin = windows().map(|(begin, _)| begin).min().unwrap_or_else(|| origin_ns(run));
    (begin, windows().map(|(_, end)| end).max().unwrap_or_else(|| last_ns(run)))
}

/// A band from start to end of each run.
fn bands(placed: &[Placed<'_>]) -> Vec<Band> {
    let band = |one: &Placed<'_>| Band {
        label: one.name.clone(),
        from: minutes(one, origin_ns(one.run)),
        to: minutes(one, last_ns(one.run)),
        mark: value_of(one.run, Figure::Rate).map_or(Mark::Broken, |(_, mark)| mark),
    };
    placed.iter().map(band).collect()
}

/// The rate of each visit divided by the median of its cell.
fn rates(of: &Experiment, design: &Design, placed: &[Placed<'_>], end: f64) -> Chart {
    let median = |cell: &str| {
        let mut rates = of.summaries.iter().filter(|one| one.figure == Figure::Rate);
        rates.find(|one| one.cell == cell).map(|one| one.median).filter(|median| *median > 0.0)
    };
    let mut x = vec![0.0];
    let mut marks = vec![Mark::None];
    let mut values: Vec<(&str, Option<f64>)> = vec![("", None)];
    for one in placed {
        let point = best_point(one.run).map(|(_, point)| point).or(one.run.record.points.last());
        let value = value_of(one.run, Figure::Rate).zip(median(one.cell));
        let (Some(point), Some(((rate, mark), median))) = (point, value) else { continue };
        let at = minutes(one, point.window_ns.0.midpoint(point.window_ns.1));
        x.push(at.max(*x.last().unwrap_or(&0.0)));
        marks.push(mark);
        values.push((one.cell, Some(rate / median)));
    }
    x.push(end.max(*x.last().unwrap_or(&0.0)));
    marks.push(Mark::None);
    values.push(("", None));
    let series = |cell: &String| {
        let y: Vec<_> = values.iter().map(|(of, value)| value.filter(|_| of == cell)).collect();
        y.iter().any(Option::is_some).then(|| Series { label: cell.clone(), y })
    };
    let no_drift = Limit { label: "median of its cell".to_string(), at: 1.0, within: None };
    let view = View {
        label: String::new(),
        series: design.cells.iter().filter_map(series).collect(),
        x_marks: if marks.iter().all(|mark| *mark == Mark::None) { Vec::new() } else { marks },
        x,
        bands: bands(placed),
        limits: vec![no_drift],
        ..View::default()
    };
    Chart {
        id: "order-rate".to_string(),
        title: "Rate in the order of the visits".to_string(),
        note: "Each dot is a visit, relative to the median of its cell. The bars on top are the \
               runs; pauses and server starts are between them. Dots that fall or rise over time \
               show a drift."
            .to_string(),
        x: Axis::linear("since the first visit", Unit::Minutes),
        y: Axis::linear("change", Unit::Change),
        shape: ChartShape::Dots,
        views: vec![view],
        selected: 0,
    }
}

/// How busy the CPUs of the hosts were in one run, in all and with anything but generator and
/// server; percent of all CPUs of the host.
fn busy_of(run: &Run, time: Timeline) -> Vec<(String, Line)> {
    let record = &run.record;
    let near_clocked = Clocked {
        readings: inside(&run.readings, measured(run), 0),
        place: Place::Probe,
        offset_ns: 0,
        clock_tick_ns: record.host.clock_tick_ns,
    };
    let mut hosts = vec![(near(run), near_clocked)];
    hosts.extend(record.target.probe.as_ref().map(|probe| {
        let clocked = Clocked {
            readings: inside(&run.server_readings, measured(run), probe.clock.offset_ns),
            offset_ns: probe.clock.offset_ns,
            clock_tick_ns: probe.host.clock_tick_ns,
            ..near_clocked
        };
        (FAR, clocked)
    }));
    let mut lines = Vec::new();
    for (whose, clocked) in hosts {
        let cpus: Vec<Line> = time.cpus(clocked).into_values().collect();
        if cpus.is_empty() {
            continue;
        }
        let count = cpus.len() as f64;
        let busy: Line = sum(&cpus).into_iter().map(|all| Some(all? / count)).collect();
        let own = [Process::Client, Process::Server];
        let own: Vec<Line> =
            own.into_iter().flat_map(|of| time.threads(clocked, of).into_values()).collect();
        if !own.is_empty() {
            let rest = |(busy, own): (&Option<f64>, Option<f64>)| {
                Some((busy.as_ref()? - 100.0 * own? / count).max(0.0))
            };
            let rest = busy.iter().zip(known_sum(&own)).map(rest).collect();
            lines.push((format!("{whose}, other programs and the kernel"), rest));
        }
        lines.push((whose.to_string(), busy));
    }
    lines.order_by_key(|(label, _)| label.len());
    lines
}

/// The readings between two instants; the clock of the readings is ahead by an offset.
fn inside(readings: &[Reading], (begin, end): (u64, u64), offset_ns: i64) -> &[Reading] {
    let [begin, end] = [begin, end].map(|at| at.saturating_add_signed(offset_ns));
    let from = readings.partition_point(|read| read.begin_ns < begin);
    let until = readings.partition_point(|read| read.end_ns <= end);
    &readings[from..until.max(from)]
}

/// The sum of lines, in the intervals in which all of them are known.
fn sum(lines: &[Line]) -> Line {
    let parts = lines.first().map_or(0, Vec::len);
    (0..parts).map(|part| lines.iter().map(|line| line[part]).sum()).collect()
}

/// The sum of the known lines: a thread that does not exist used nothing.
fn known_sum(lines: &[Line]) -> Line {
    let parts = lines.first().map_or(0, Vec::len);
    let of_part = |part: usize| {
        let known = || lines.iter().filter_map(|line| line[part]);
        known().next().map(|_| known().sum())
    };
    (0..parts).map(of_part).collect()
}

fn busy(placed: &[Placed<'_>], end: f64) -> Chart {
    let mut x = vec![0.0];
    let mut lines: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let times: Vec<Timeline> =
        placed.iter().map(|one| Timeline::between(measured(one.run))).collect();
    let all: usize = times.iter().map(|time| time.middles_ns().count()).sum();
    let together = all.div_ceil(VALUES_MAX).max(1);
    for (one, time) in placed.iter().zip(times) {
        // A gap before each run.
        x.push(minutes(one, measured(one.run).0).max(*x.last().unwrap_or(&0.0)));
        let before = x.len();
        let middles: Vec<u64> = time.middles_ns().collect();
        for part in middles.chunks(together) {
            let at = minutes(one, part[0].midpoint(part[part.len() - 1]));
            x.push(at.max(*x.last().unwrap_or(&0.0)));
        }
        for (label, line) in busy_of(one.run, time) {
            let kept = lines.entry(label).or_default();
            kept.resize(before, None);
            kept.extend(line.chunks(together).map(mean));
        }
    }
    x.push(end.max(*x.last().unwrap_or(&0.0)));
    lines.values_mut().for_each(|line| line.resize(x.len(), None));
    let mut series: Vec<Series> = lines.into_iter().map(|(label, y)| Series { label, y }).collect();
    series.order_by_key(|series| series.label.len());
    Chart {
        id: "order-cpu".to_string(),
        title: "CPU of the hosts during the visits".to_string(),
        note:
            "Busy share of all CPUs of a host during the visits, and the part of it that neither \
               generator nor server used: interrupts, and other programs."
                .to_string(),
        x: Axis::linear("since the first visit", Unit::Minutes),
        y: Axis::linear("busy", Unit::Percent),
        shape: ChartShape::Lines,
        views: vec![View { x, series, bands: bands(placed), ..View::default() }],
        selected: 0,
    }
}

fn mean(part: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = part.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn visits_are_placed_by_the_clock_and_after_a_restart_by_the_day() {
        let first = fixtures::load_limited();
        let mut next = fixtures::later(fixtures::load_limited(), 90);
        assert_eq!(passed_s(&first, &next), 90.0);
        let started: Timestamp = first.record.started_at.parse().unwrap();
        let tomorrow = started + jiff::SignedDuration::from_hours(24);
        next.record.started_at = tomorrow.to_string();
        assert_eq!(passed_s(&first, &next), 86_400.0);
    }

    #[test]
    fn both_hosts_are_drawn_on_the_axis_of_the_visits() {
        let (of, runs) = fixtures::visits();
        let charts = charts(&of, of.design.as_ref().unwrap(), &runs);
        let charts: Vec<&Chart> = charts
            .iter()
            .map(|block| match block {
                Block::Chart(chart) => chart,
                other => panic!("{other:?}"),
            })
            .collect();
        let [rate, cpu] = charts[..] else { panic!("{} charts", charts.len()) };
        let ends = |chart: &Chart| (chart.views[0].x[0], chart.views[0].x.last().copied());
        assert_eq!(ends(rate), ends(cpu), "the same axis");
        let labels: Vec<_> = cpu.views[0].series.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "the client's host",
                "the server's host",
                "the client's host, other programs and the kernel",
                "the server's host, other programs and the kernel"
            ]
        );
        let first = cpu.views[0].series[0].y.iter().flatten().copied();
        let least = first.min_by(f64::total_cmp).unwrap();
        assert!(least > 20.0, "idle time before and after the windows is left out: {least}");
        assert!(charts.iter().all(|chart| chart.x.unit == Unit::Minutes));
        for view in charts.iter().map(|chart| &chart.views[0]) {
            assert!(view.x.is_sorted());
            assert!(view.series.iter().all(|series| series.y.len() == view.x.len()));
        }
        let series = &rate.views[0].series;
        assert_eq!(series.len(), of.design.as_ref().unwrap().cells.len());
        let dots = series.iter().flat_map(|one| one.y.iter().flatten()).count();
        assert_eq!(dots, runs.iter().flatten().count(), "one for each visit with a run");
    }
}
