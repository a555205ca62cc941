//! Each CPU: its states while the best point was measured, and its busy share over time.
//!
//! The mean of a host hides a single full CPU.

use super::HostChart;
use super::side::{Drawn, Side};
use crate::hosts::Waits;
use crate::page::{Block, Column, Grid, GridRow};
use crate::wording::or_dash;
use observe::{CpuShare, Line, STATES, mean_shares};

pub(super) fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let busy = side.time.cpus(side.clocked);
    if busy.is_empty() {
        return Drawn::Absent;
    }
    let waits = Waits::of(side.run, side.whose);
    let (seen, when) = side.seen(|of| of.cpus.clone()).unwrap_or_default();
    let states_of = |share: &CpuShare| Some(waits.shown(mean_shares(&[*share])?));
    // Where iowait is not caused by disks, it counts as idle for every CPU.
    let known = seen.iter().find_map(states_of).unwrap_or_default();
    let states: Vec<usize> = (0..STATES.len()).filter(|state| known[*state].is_some()).collect();
    let row = |(cpu, cells): (u32, Line)| {
        let share = seen.iter().find(|share| share.cpu == cpu);
        let bar = share
            .and_then(states_of)
            .map(|of| states.iter().map(|state| of[*state].unwrap_or(0.0)).collect());
        GridRow {
            label: cpu.to_string(),
            bar: bar.unwrap_or_default(),
            values: vec![or_dash(share, |share| format!("{:.0}", 100.0 * share.busy()))],
            cells,
            ..GridRow::default()
        }
    };
    Drawn::Blocks(vec![Block::Grid(Grid {
        note: format!("Bars: states {when}. Cells: busy share over the run."),
        rows_are: "CPU".to_string(),
        parts: states.iter().map(|state| STATES[*state].to_string()).collect(),
        columns: vec![Column::numbers("busy %")],
        cells_are: "busy".to_string(),
        rows: busy.into_iter().map(row).collect(),
        ..side.grid(chart)
    })])
}
