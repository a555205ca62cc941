//! Receive work of each CPU: packets processed in softirq, drops, and polls cut short.

use super::HostChart;
use super::side::{Drawn, Side};
use crate::page::{Block, Column, Grid, GridRow};
use crate::wording::or_dash;
use model::metric::Kind;
use model::reading::Data;
use model::units::show_count;
use observe::Line;

pub(super) fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let pick = |data: &Data| {
        let Data::Softnet(rows) = data else { return Vec::new() };
        rows.iter().map(|row| (row.cpu, f64::from(row.processed))).collect()
    };
    let taken = side.time.growth(side.clocked, ("softnet", Kind::Counter32), pick);
    let full = taken.values().flatten().flatten().copied().fold(0.0, f64::max);
    if full <= 0.0 {
        return if taken.is_empty() { Drawn::Absent } else { Drawn::Zero };
    }
    let runs = side.time.growth(side.clocked, ("softirqs", Kind::Counter32), received);
    let (seen, when) = side.seen(|of| of.softnet.clone()).unwrap_or_default();
    let row = |(cpu, cells): (u32, Line)| {
        let used = seen.iter().find(|used| used.cpu == cpu);
        let mean = runs.get(&cpu).and_then(mean);
        let values = vec![
            or_dash(used, |used| show_count(used.processed_s)),
            or_dash(mean, show_count),
            or_dash(used, |used| used.dropped.to_string()),
            or_dash(used, |used| used.squeezed.to_string()),
        ];
        GridRow { label: cpu.to_string(), values, cells, ..GridRow::default() }
    };
    let titles = ["packets/s", "NET_RX/s", "dropped", "cut short"];
    Drawn::Blocks(vec![Block::Grid(Grid {
        note: format!(
            "Packets, drops and polls cut short {when}; NET_RX over the run. Cells: packets/s over \
             the run, the darkest is {}/s.",
            show_count(full)
        ),
        rows_are: "CPU".to_string(),
        columns: titles.map(Column::numbers).to_vec(),
        cells_are: "packets".to_string(),
        full,
        rows: taken.into_iter().map(row).collect(),
        ..side.grid(chart)
    })])
}

/// Runs of the NET_RX handler, by CPU.
fn received(data: &Data) -> Vec<(u32, f64)> {
    let Data::Values(of) = data else { return Vec::new() };
    let Some(model::reading::Value::PerCpu(counts)) = of.values.get("NET_RX") else {
        return Vec::new();
    };
    (0..).zip(counts).map(|(cpu, count)| (cpu, *count as f64)).collect()
}

fn mean(line: &Line) -> Option<f64> {
    let known: Vec<f64> = line.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
