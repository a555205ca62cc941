//! Throughput and latency over the quantity that the levels vary.

use crate::page::{Axis, Block, Chart, ChartShape, Limit, Mark, Scale, Series, View, is_drawable};
use crate::wording::{asked_rate, interval, mark_of, per_second, rate_asked};
use model::histogram::Summary;
use model::order::OrderBy as _;
use model::run::{Point, Run};
use model::search::Answer;
use model::unit::Unit;
use model::verdict::{Ceiling, CeilingKind};

/// What the levels of a run vary; the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Varied {
    Connections,
    AskedRate,
    InFlight,
}

impl Varied {
    fn of(points: &[&Point]) -> Self {
        let varies =
            |value: fn(&Point) -> f64| points.iter().any(|point| value(point) != value(points[0]));
        if varies(|point| point.load.rate.unwrap_or(0.0)) {
            Self::AskedRate
        } else if varies(|point| f64::from(point.load.depth)) {
            Self::InFlight
        } else {
            Self::Connections
        }
    }

    /// Nothing where the axis has no place for it.
    fn value(self, point: &Point) -> Option<f64> {
        let value = match self {
            Self::Connections => Some(f64::from(point.load.connections)),
            Self::AskedRate => point.load.rate,
            Self::InFlight => Some(point.in_flight.limit as f64),
        };
        value.filter(|value| *value > 0.0 && is_drawable(*value))
    }

    fn axis(self) -> Axis {
        match self {
            Self::Connections => Axis::log("connections", Unit::Count),
            Self::AskedRate => Axis::log("asked rate", Unit::PerSecond),
            Self::InFlight => Axis::log("allowed requests in flight", Unit::Count),
        }
    }
}

type Pick = fn(&Summary) -> Option<u64>;

/// Percentiles of the latency chart.
const PERCENTILES: [(&str, Pick); 4] = [
    ("p50", |summary| summary.p50),
    ("p90", |summary| summary.p90),
    ("p99", |summary| summary.p99),
    ("p99.9", |summary| summary.p99_9),
];

/// Rate and latency percentiles over the levels, for runs with more than one.
pub fn curves(run: &Run) -> Vec<Block> {
    let points = &run.record.points;
    let Some(varied) = points.first().map(|_| Varied::of(&points.iter().collect::<Vec<_>>()))
    else {
        return Vec::new();
    };
    let mut order: Vec<(f64, usize)> = (0..points.len())
        .filter_map(|index| Some((varied.value(&points[index])?, index)))
        .collect();
    order.order_by(|left, right| left.0.total_cmp(&right.0));
    if order.first().map(|first| first.0) == order.last().map(|last| last.0) {
        return Vec::new();
    }
    let marks = order.iter().map(|(_, index)| mark_of(run, &points[*index])).collect::<Vec<_>>();
    let view = |series: Vec<Series>| View {
        label: "all levels".to_string(),
        mark: Mark::None,
        x: order.iter().map(|(x, _)| *x).collect(),
        x_marks: if marks.iter().all(|mark| *mark == Mark::None) {
            Vec::new()
        } else {
            marks.clone()
        },
        series,
        ..View::default()
    };
    let points: Vec<&Point> = order.iter().map(|(_, index)| &points[*index]).collect();
    vec![
        Block::Chart(rate_chart(
            band_note(run),
            varied,
            View { limits: limits(run), ..view(rate_series(&points)) },
        )),
        Block::Chart(latency_chart(varied, view(latency_series(&points)))),
    ]
}

/// Rate and p99 of several runs over the levels, one line per run. A level with several visits has
/// several positions; a level whose figures are not known is left out.
pub(super) fn of_runs(runs: &[(String, &Run)]) -> Vec<Block> {
    let all: Vec<&Point> = runs.iter().flat_map(|(_, run)| &run.record.points).collect();
    let Some(varied) = all.first().map(|_| Varied::of(&all)) else { return Vec::new() };
    let mut x: Vec<f64> = Vec::new();
    let mut visits: Vec<Vec<Option<&Point>>> = Vec::new();
    for (nth, (_, run)) in runs.iter().enumerate() {
        for point in &run.record.points {
            let known = Some(point).filter(|point| mark_of(run, point) != Mark::Broken);
            let Some(level) = known.and_then(|point| varied.value(point)) else { continue };
            // The last of several visits counts: it is the steady one.
            let row = x.partition_point(|known| *known < level);
            if x.get(row) != Some(&level) {
                x.insert(row, level);
                visits.insert(row, vec![None; runs.len()]);
            }
            visits[row][nth] = Some(point);
        }
    }
    if x.first() == x.last() {
        return Vec::new();
    }
    let view = |pick: fn(&Point) -> Option<f64>| {
        let line = |(nth, (name, _)): (usize, &(String, _))| Series {
            label: with_reservation(
                name,
                visits.iter().filter_map(|row| Some((runs[nth].1, row[nth]?))),
            ),
            y: visits.iter().map(|row| row[nth].and_then(pick)).collect(),
        };
        let series = runs.iter().enumerate().map(line).collect();
        View { label: "all levels".to_string(), x: x.clone(), series, ..View::default() }
    };
    let p99 = |point: &Point| point.main_times()?.p99.map(|ns| ns as f64);
    let rate = rate_chart(String::new(), varied, view(rate_asked));
    let latency = latency_chart(varied, view(p99));
    vec![Block::Chart(rate), Block::Chart(Chart { title: "p99".to_string(), ..latency })]
}

/// The name of a run in a legend, with the sign of a reservation when one of its points has one.
fn with_reservation<'a>(
    name: &str,
    mut points: impl Iterator<Item = (&'a Run, &'a Point)>,
) -> String {
    let is_any = points.any(|(run, point)| mark_of(run, point) == Mark::Caution);
    if is_any { format!("{name} (~ with a reservation)") } else { name.to_string() }
}

fn rate_series(points: &[&Point]) -> Vec<Series> {
    let mut series = vec![Series {
        label: "rate".to_string(),
        y: points.iter().map(|point| rate_asked(point)).collect(),
    }];
    let asked = |point: &&Point| point.devices().map_or(asked_rate(point), |_| point.load.rate);
    if points.iter().any(|point| asked(point).is_some()) {
        let y = points.iter().map(asked).collect();
        series.push(Series { label: "asked".to_string(), y });
    }
    series
}

/// The ceiling as judged, or the answer of a search: the rate of the headline.
fn limits(run: &Run) -> Vec<Limit> {
    if let Some(search) = &run.record.search {
        let answer = search.answer.as_ref().and_then(|answer| Some((answer.rate?, answer)));
        let limit = |(rate, answer): (f64, &Answer)| Limit {
            label: match answer.kind {
                CeilingKind::Ceiling => format!("{} holds", per_second(rate)),
                CeilingKind::AtLeast => format!("at least {} holds", per_second(rate)),
            },
            at: rate,
            within: answer.misses_at.map(|misses_at| (rate, misses_at)),
        };
        return answer.into_iter().map(limit).collect();
    }
    let limit = |ceiling: &Ceiling| Limit {
        label: match ceiling.kind {
            CeilingKind::Ceiling => format!("ceiling {}", per_second(ceiling.rate)),
            CeilingKind::AtLeast => format!("at least {}", per_second(ceiling.rate)),
        },
        at: ceiling.rate,
        within: ceiling.low.zip(ceiling.high),
    };
    run.record.verdict.ceiling.iter().map(limit).collect()
}

fn latency_series(points: &[&Point]) -> Vec<Series> {
    let series_of = |(label, pick): (&str, Pick)| Series {
        label: label.to_string(),
        y: points.iter().map(|point| pick(point.main_times()?).map(|ns| ns as f64)).collect(),
    };
    PERCENTILES.into_iter().map(series_of).collect()
}

fn band_note(run: &Run) -> String {
    let band = run.record.verdict.ceiling.as_ref().and_then(interval);
    band.map_or_else(String::new, |band| format!(" The band is {band}."))
}

fn rate_chart(band: String, varied: Varied, view: View) -> Chart {
    Chart {
        id: "rate-by-level".to_string(),
        title: "Throughput".to_string(),
        note: format!(
            "Good responses per second; for devices, connections; for subscribers, events.{band}"
        ),
        x: varied.axis(),
        y: Axis::linear("rate", Unit::PerSecond),
        shape: ChartShape::Lines,
        views: vec![view],
        selected: 0,
    }
}

fn latency_chart(varied: Varied, view: View) -> Chart {
    Chart {
        id: "latency-by-level".to_string(),
        title: "Latency".to_string(),
        note: "Of requests; for devices, the time to connect; for subscribers, how stale events \
               are. A percentile with fewer than ten samples beyond it is not drawn."
            .to_string(),
        x: varied.axis(),
        y: Axis { label: "latency".to_string(), unit: Unit::Ns, scale: Scale::Log },
        shape: ChartShape::Lines,
        views: vec![view],
        selected: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn devices_have_the_curve_of_their_connections() {
        let mut run = fixtures::churn_turnover();
        let mut more = run.record.points[0].clone();
        more.load.connections *= 2;
        fixtures::turnover(&mut more).rate = 2_500.0;
        run.record.points.push(more);
        let blocks = curves(&run);
        let [Block::Chart(rate), Block::Chart(times)] = &blocks[..] else { panic!("{blocks:?}") };
        assert_eq!(rate.views[0].series[0].y, [Some(1_920.0), Some(2_500.0)]);
        let p50 = run.record.points[0].turnover().unwrap().connect_ns.p50;
        assert_eq!(times.views[0].series[0].y[0], p50.map(|ns| ns as f64));
    }

    /// The latency of the requests that write says nothing about the events.
    #[test]
    fn subscribers_have_the_curve_of_staleness_where_it_is_known() {
        let mut run = fixtures::fanout();
        let [first, second] = &mut run.record.points[..] else { panic!("two levels") };
        let stale = first.events().and_then(|events| events.staleness_ns.as_ref());
        let known = stale.and_then(|stale| stale.p50).map(|ns| ns as f64);
        fixtures::events(second).staleness_ns = None;
        let blocks = curves(&run);
        let [Block::Chart(_), Block::Chart(times)] = &blocks[..] else { panic!("{blocks:?}") };
        assert!(known.is_some());
        assert_eq!(times.views[0].series[0].y, [known, None]);
    }
}
