//! Runs with connections that come and go, side by side: their rates and times to connect.

use crate::page::{Axis, Block, Chart, ChartShape, Column, Series, Table, View};
use crate::wording::{count, figure_cells, mark_of, or_dash, point_phrase, rate_cell};
use model::figure::Figure;
use model::histogram::Summary;
use model::run::{Point, Run, TurnoverInfo};
use model::unit::Unit;
use model::units::show_count;

type Pick = fn(&Summary) -> Option<u64>;

/// The percentiles of a record, at `1 / (1 - q)`.
const PERCENTILES: [(f64, Pick); 7] = [
    (2.0, |summary| summary.p50),
    (4.0, |summary| summary.p75),
    (10.0, |summary| summary.p90),
    (20.0, |summary| summary.p95),
    (100.0, |summary| summary.p99),
    (1_000.0, |summary| summary.p99_9),
    (10_000.0, |summary| summary.p99_99),
];

/// A table and a chart of named runs; nothing when no run opened connections in its window.
pub fn connecting<'a>(runs: impl Iterator<Item = (String, &'a Run)>) -> Vec<Block> {
    let rows: Vec<_> = runs.filter_map(|(name, run)| Some((name, run, last(run)?))).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::words("run"), Column::words("load").rank(2)];
    columns.extend(["conns/s", "planned"].map(Column::numbers));
    columns.extend(["connect p50", "p90", "p99", "max"].map(Column::numbers));
    columns.push(Column::numbers("SYN resent").rank(1));
    let mut table = Table::new(columns);
    let mut series = Vec::new();
    for (name, run, (point, turnover)) in rows {
        let connect = turnover.connect_times();
        let y = PERCENTILES.iter().map(|(_, pick)| pick(connect).map(|ns| ns as f64)).collect();
        series.push(Series { label: name.clone(), y });
        let mut cells = vec![name, point_phrase(point)];
        cells.push(rate_cell(point));
        cells.push(or_dash(turnover.planned_rate, show_count));
        let times = [Figure::P50, Figure::P90, Figure::P99, Figure::MAX];
        cells.extend(figure_cells(point, times));
        cells.push(count(turnover.syn_retries.values().sum()));
        table.push(mark_of(run, point), cells);
    }
    let view = View {
        label: "all runs".to_string(),
        x: PERCENTILES.iter().map(|(nines, _)| *nines).collect(),
        series,
        ..View::default()
    };
    vec![Block::Table(table), Block::Chart(chart(view))]
}

/// The last point of a run, when connections were opened in its window.
fn last(run: &Run) -> Option<(&Point, &TurnoverInfo)> {
    let point = run.record.points.last()?;
    let turnover = point.devices()?;
    (turnover.connect_ns.count > 0).then_some((point, turnover))
}

fn chart(view: View) -> Chart {
    Chart {
        id: "connect-distribution".to_string(),
        title: "Time to connect".to_string(),
        note: "Each nine is one step to the right. A lost SYN is sent again after 1 s, so an \
               overflowing queue shows as a step to whole seconds."
            .to_string(),
        x: Axis::log("percentile", Unit::Nines),
        y: Axis::log("time to connect", Unit::Ns),
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
    fn runs_of_connections_are_compared_and_others_left_out() {
        let runs = [fixtures::ramp_quota(), fixtures::churn_turnover(), fixtures::churn_held()];
        let named = |at: usize| (format!("run {at}"), &runs[at]);
        let blocks = connecting((0..3).map(named));
        let [Block::Table(table), Block::Chart(chart)] = &blocks[..] else { panic!("{blocks:?}") };
        assert_eq!(table.rows.len(), 1, "held connections came before the window");
        let cells = &table.rows[0].cells;
        let figures = [&cells[0], &cells[2], &cells[3], &cells[8]];
        assert_eq!(figures, ["run 1", "1920", "2000", "324"], "{cells:?}");
        let y = &chart.views[0].series[0].y;
        assert_eq!(y.len(), chart.views[0].x.len());
        assert!(y[0].is_some() && y[0] < y[4], "{y:?}");
        assert_eq!(connecting((0..1).map(named)), []);
    }
}
