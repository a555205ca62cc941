//! How devices came and went, second by second: the ramp-up before the window, the window, and the
//! ramp-down.

use super::timeline;
use crate::page::{Axis, Band, Block, Chart, Series, View};
use crate::wording::{mark_of, point_phrase};
use model::run::{Point, Run, TurnoverInfo};
use model::series::Opening;
use model::unit::Unit;
use model::units::NS_PER_S;

/// A figure of a second.
type Pick = fn(&Opening) -> Option<f64>;

/// The line of failed attempts, which is drawn where any failed.
const FAILED: &str = "failed";

/// Shorter visits are drawn only in tenths of a second of their window.
const SECONDS_MIN: usize = 3;

/// Connections, time to connect and accept queues over each visit; nothing where every visit of
/// devices was shorter than that.
pub fn charts(run: &Run) -> Vec<Block> {
    let visits: Vec<(&Point, &TurnoverInfo)> = run
        .record
        .points
        .iter()
        .filter_map(|point| Some((point, point.turnover()?)))
        .filter(|(_, turnover)| turnover.openings.len() >= SECONDS_MIN)
        .collect();
    if visits.is_empty() {
        return Vec::new();
    }
    let chart = |id: &str, title: &str, note: &str, y: Axis, lines: &[(&str, Pick)]| {
        let views: Vec<View> = visits
            .iter()
            .filter_map(|(point, turnover)| view(run, point, turnover, lines))
            .collect();
        let chart = Chart { y, ..timeline::chart(id, title, note) };
        (!views.is_empty()).then_some(Block::Chart(Chart { views, ..chart }))
    };
    let rates = chart(
        "openings-over-visit",
        "Connections over the whole visit",
        "Each second from the first connection to the last. The bar on top is the measured window.",
        Axis::linear("rate", Unit::PerSecond),
        &[
            ("established", |one| Some(one.established as f64)),
            (FAILED, |one| Some(one.failed as f64)),
        ],
    );
    let connect = chart(
        "connect-over-visit",
        "Time to connect over the whole visit",
        "From connect() to established, for the connections of each second.",
        Axis::log("time to connect", Unit::Ns),
        &[
            ("p50", |one| one.connect_p50_ns.map(|ns| ns as f64)),
            ("p90", |one| one.connect_p90_ns.map(|ns| ns as f64)),
        ],
    );
    let waiting = chart(
        "waiting-over-visit",
        "Open and waiting connections over the whole visit",
        "Open at the end of each second, and the most that waited to be accepted during it.",
        Axis::linear("connections", Unit::Count),
        &[
            ("open", |one| Some(one.open as f64)),
            ("waiting to be accepted", |one| one.accept_queue.map(|queued| queued as f64)),
        ],
    );
    [rates, connect, waiting].into_iter().flatten().collect()
}

/// One visit; nothing where none of the lines has a value.
fn view(run: &Run, point: &Point, turnover: &TurnoverInfo, lines: &[(&str, Pick)]) -> Option<View> {
    let openings = &turnover.openings;
    let line = |(label, pick): &(&str, Pick)| {
        let y: Vec<_> = openings.iter().map(pick).collect();
        let least = if *label == FAILED { 0.0 } else { -1.0 };
        let is_drawn = y.iter().flatten().any(|value| *value > least);
        is_drawn.then(|| Series { label: (*label).to_string(), y })
    };
    let series: Vec<Series> = lines.iter().filter_map(line).collect();
    let since_s =
        |at_ns: u64| at_ns.saturating_sub(turnover.visit_begin_ns) as f64 / NS_PER_S as f64;
    let band = Band {
        label: "measured window".to_string(),
        from: since_s(point.window_ns.0),
        to: since_s(point.window_ns.1),
        mark: mark_of(run, point),
    };
    (!series.is_empty()).then(|| View {
        label: point_phrase(point),
        mark: mark_of(run, point),
        x: openings.iter().map(|one| one.t_s).collect(),
        series,
        bands: vec![band],
        ..View::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn drawn(run: &Run) -> Vec<Chart> {
        let chart = |block| if let Block::Chart(chart) = block { Some(chart) } else { None };
        charts(run).into_iter().filter_map(chart).collect()
    }

    #[test]
    fn a_ramp_up_is_drawn_with_its_window() {
        let mut run = fixtures::churn_turnover();
        let point = &mut run.record.points[0];
        let begin_ns = point.window_ns.0 - 2 * NS_PER_S;
        let turnover = fixtures::turnover(point);
        turnover.visit_begin_ns = begin_ns;
        let second = |nth: u64| Opening {
            t_s: nth as f64,
            established: 100 * nth,
            open: 10 * nth,
            connect_p50_ns: Some(1000 * nth),
            ..Opening::default()
        };
        turnover.openings = (1..=5).map(second).collect();
        let charts = drawn(&run);
        let ids: Vec<_> = charts.iter().map(|chart| chart.id.as_str()).collect();
        assert_eq!(ids, ["openings-over-visit", "connect-over-visit", "waiting-over-visit"]);
        let view = &charts[0].views[0];
        assert_eq!(view.bands[0].from, 2.0);
        let lines = |chart: &Chart| -> Vec<String> {
            chart.views[0].series.iter().map(|line| line.label.clone()).collect()
        };
        assert_eq!(lines(&charts[0]), ["established"], "none failed");
        assert_eq!(view.series[0].y[4], Some(500.0));
        assert_eq!(lines(&charts[2]), ["open"], "queues were not read");
        let turnover = fixtures::turnover(&mut run.record.points[0]);
        turnover.openings[3].failed = 7;
        let failed = drawn(&run)[0].views[0].series[1].y.clone();
        assert_eq!(failed, [0.0, 0.0, 0.0, 7.0, 0.0].map(Some), "zero was counted");
        fixtures::turnover(&mut run.record.points[0]).openings.truncate(2);
        assert!(drawn(&run).is_empty(), "too short to say more than the window");
    }
}
