//! CPU time of a host by state, over the run.

use super::HostChart;
use super::side::{Drawn, OverTime, Side};
use crate::hosts::Waits;
use crate::page::{Axis, Block, ChartShape, Series};
use model::unit::Unit;
use observe::STATES;

pub(super) fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let waits = Waits::of(side.run, side.whose);
    let parts = side.time.cpu_states(side.clocked);
    let shown: Vec<_> = parts.into_iter().map(|shares| Some(waits.shown(shares?))).collect();
    let series = |(index, state): (usize, &&str)| Series {
        label: (*state).to_string(),
        y: shown.iter().map(|shares| shares.as_ref()?[index]).collect(),
    };
    let is_known = |series: &Series| series.y.iter().any(Option::is_some);
    let series: Vec<Series> = STATES.iter().enumerate().map(series).filter(is_known).collect();
    if series.is_empty() {
        return Drawn::Absent;
    }
    let y = Axis::linear("share", Unit::Percent);
    let note = waits.note().map(|why| format!(" {why}")).unwrap_or_default();
    let note = format!("All CPUs. The bars on top are measured windows.{note}");
    let drawn = OverTime { series, y, limits: Vec::new(), note, shape: ChartShape::Stacked };
    Drawn::Blocks(vec![Block::Chart(side.over_time(chart, drawn))])
}
