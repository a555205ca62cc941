//! What the server's threads were doing when they were sampled.

use super::HostChart;
use super::side::{Drawn, OverTime, Side};
use crate::page::{Axis, Block, ChartShape, Series};
use model::metric::Kind;
use model::reading::{Data, Doing};
use model::unit::Unit;

pub(super) fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let pick = |data: &Data| {
        let Data::ServerThreadsNow(threads) = data else { return Vec::new() };
        let share = |doing: &Doing| {
            let count = threads.iter().filter(|thread| thread.doing == *doing).count();
            (*doing, 100.0 * count as f64 / threads.len() as f64)
        };
        if threads.is_empty() { Vec::new() } else { Doing::ALL.iter().map(share).collect() }
    };
    let shares = side.time.states(side.clocked, ("server_threads_now", Kind::Mean), pick);
    let is_seen = |line: &Vec<Option<f64>>| line.iter().flatten().any(|share| *share > 0.0);
    let seen = shares.into_iter().filter(|(_, line)| is_seen(line));
    let series: Vec<Series> =
        seen.map(|(doing, y)| Series { label: doing.word().to_string(), y }).collect();
    if series.is_empty() {
        return Drawn::Absent;
    }
    let y = Axis::linear("share of threads", Unit::Percent);
    let note = "Share of the sampled server threads, idle ones included.".to_string();
    let drawn = OverTime { series, y, limits: Vec::new(), note, shape: ChartShape::Stacked };
    Drawn::Blocks(vec![Block::Chart(side.over_time(chart, drawn))])
}
