//! Which CPU served which interrupt: a matrix of queues and CPUs, with the affinity masks.

use super::HostChart;
use super::side::{Drawn, Side};
use crate::page::{Across, Block, Column, Grid, GridRow};
use model::order::OrderBy as _;
use model::units::{parse_cpus, show_count};
use observe::InterruptUse;

/// Interrupts with a row of their own; the others are summed.
const ROWS_MAX: usize = 16;

pub(super) fn draw(side: &Side<'_>, chart: &HostChart) -> Drawn {
    let Some((mut used, when)) = side.seen(|of| of.interrupts.clone()) else {
        return Drawn::Absent;
    };
    used.retain(|one| one.per_s > 0.0);
    if used.is_empty() {
        return Drawn::Zero;
    }
    used.order_by(|left, right| right.per_s.total_cmp(&left.per_s));
    let others = used.split_off(used.len().min(ROWS_MAX));
    // Keeps the queues of one device together, in the order of their numbers.
    used.order_by_key(|one| one.irq.parse::<u64>().unwrap_or(u64::MAX));
    let mut rows: Vec<GridRow> = used.iter().map(row).collect();
    rows.extend(rest(&others));
    let cells = || rows.iter().flat_map(|row| row.cells.iter().flatten().copied());
    let full = cells().fold(0.0, f64::max);
    let columns = vec![
        Column::numbers("IRQ"),
        Column::numbers("/s"),
        Column::words("mask"),
        Column::words("mostly on"),
    ];
    Drawn::Blocks(vec![Block::Grid(Grid {
        note: format!(
            "Interrupts per second on each CPU {when}; the darkest cell is {}/s. A line below a \
             cell: the affinity mask allows that CPU.",
            show_count(full)
        ),
        rows_are: "interrupt".to_string(),
        columns,
        cells_are: "CPU".to_string(),
        across: Across::Cpus,
        full,
        rows,
        ..side.grid(chart)
    })])
}

fn row(one: &InterruptUse) -> GridRow {
    let mask = one.allowed.as_deref().and_then(parse_cpus);
    let is_allowed = |cpu: usize| mask.as_ref().is_some_and(|mask| mask.contains(&cpu));
    let cpus = one.per_cpu_s.len();
    let values = vec![
        one.irq.clone(),
        show_count(one.per_s),
        one.allowed.clone().unwrap_or_else(|| "-".to_string()),
        mostly(one),
    ];
    GridRow {
        // Some drivers append the bus to the name of the queue.
        label: one.device.split('@').next().unwrap_or_default().to_string(),
        values,
        cells: one.per_cpu_s.iter().copied().map(Some).collect(),
        allowed: if mask.is_some() { (0..cpus).map(is_allowed).collect() } else { Vec::new() },
        ..GridRow::default()
    }
}

/// The CPU that served most of these interrupts, and its share.
fn mostly(one: &InterruptUse) -> String {
    let most = one.per_cpu_s.iter().enumerate().max_by(|left, right| left.1.total_cmp(right.1));
    most.map_or("-".to_string(), |(cpu, per_s)| {
        format!("{cpu}: {:.0} %", 100.0 * per_s / one.per_s)
    })
}

fn rest(others: &[InterruptUse]) -> Option<GridRow> {
    let cpus = others.iter().map(|one| one.per_cpu_s.len()).max()?;
    let sum = |cpu: usize| others.iter().filter_map(|one| one.per_cpu_s.get(cpu)).sum::<f64>();
    let per_s: f64 = others.iter().map(|one| one.per_s).sum();
    Some(GridRow {
        label: format!("{} more", others.len()),
        values: ["-".to_string(), show_count(per_s), "-".to_string(), "-".to_string()].to_vec(),
        cells: (0..cpus).map(|cpu| Some(sum(cpu))).collect(),
        ..GridRow::default()
    })
}
