//! Threads of the generator and of the server: how long each ran, and waited for a CPU.
//!
//! A thread that runs all the time is full, whatever the mean of the host shows.

use super::HostChart;
use super::side::{Drawn, Side};
use crate::page::{Block, Column, Grid, GridRow};
use crate::wording::{or_dash, percent};
use model::order::OrderBy as _;
use observe::{DoingShares, Line, Process, ThreadKey, ThreadShare};

/// Threads with a row of their own; the others are summed.
const THREADS_MAX: usize = 16;

pub(super) fn draw(side: &Side<'_>, chart: &HostChart, process: Process) -> Drawn {
    let mut used: Vec<(ThreadKey, Line)> =
        side.time.threads(side.clocked, process).into_iter().collect();
    if used.is_empty() {
        return Drawn::Absent;
    }
    let sum = |line: &Line| line.iter().flatten().sum::<f64>();
    used.order_by(|(_, left), (_, right)| sum(right).total_cmp(&sum(left)));
    let others = used.split_off(used.len().min(THREADS_MAX));
    let (shares, when) = side
        .seen(|of| match process {
            Process::Client => of.client_threads.clone(),
            Process::Server => of.server_threads.clone(),
        })
        .unwrap_or_default();
    let doing = match process {
        Process::Client => None,
        Process::Server => side.seen(|of| of.doing.clone()).map(|(doing, _)| doing),
    };
    let mut rows: Vec<GridRow> =
        used.into_iter().map(|(key, line)| row(&key, &line, &shares, doing.as_ref())).collect();
    if !others.is_empty() {
        rows.push(rest(&others, doing.as_ref()));
    }
    let mut columns = vec![Column::numbers("needs %")];
    columns.extend(doing.as_ref().map(|_| Column::words("mostly")));
    Drawn::Blocks(vec![Block::Grid(Grid {
        note: format!(
            "Bars: share of the time on a CPU, and waiting for one, {when}; a thread needs both. \
             Cells: share on a CPU over the run."
        ),
        rows_are: "thread".to_string(),
        parts: vec!["runs".to_string(), "waits".to_string()],
        columns,
        cells_are: "on a CPU".to_string(),
        rows,
        ..side.grid(chart)
    })])
}

fn row(
    (pid, tid, name): &ThreadKey,
    line: &Line,
    shares: &[ThreadShare],
    doing: Option<&DoingShares>,
) -> GridRow {
    let share = shares.iter().find(|share| (share.pid, share.tid) == (*pid, *tid));
    let bar = share.map(|share| vec![100.0 * share.run, 100.0 * share.wait]);
    let mut values = vec![or_dash(share, |share| percent(100.0 * share.wanted()))];
    values.extend(doing.map(|doing| or_dash(mostly(doing, *tid), |mostly| mostly)));
    GridRow {
        label: format!("{name} {tid}"),
        bar: bar.unwrap_or_default(),
        values,
        cells: scaled(line),
        ..GridRow::default()
    }
}

/// What a thread was doing in most samples, and their share of its samples.
fn mostly(doing: &DoingShares, tid: u32) -> Option<String> {
    let seen = doing.by_thread.get(&tid)?;
    let all: u64 = seen.values().sum();
    let (most, count) = seen.iter().max_by_key(|(_, count)| **count)?;
    let share = 100.0 * *count as f64 / all.max(1) as f64;
    Some(format!("{} {share:.0} %", most.word()))
}

/// The busiest of the threads without a row, at each instant.
fn rest(others: &[(ThreadKey, Line)], doing: Option<&DoingShares>) -> GridRow {
    let parts = others.first().map_or(0, |(_, line)| line.len());
    let most = |part: usize| {
        let known = others.iter().filter_map(|(_, line)| line[part]);
        known.max_by(f64::total_cmp)
    };
    let cells: Line = (0..parts).map(most).collect();
    let mut values = vec!["-".to_string()];
    values.extend(doing.map(|_| "-".to_string()));
    let label = format!("{} more: the busiest", others.len());
    GridRow { label, values, cells: scaled(&cells), ..GridRow::default() }
}

fn scaled(line: &Line) -> Line {
    line.iter().map(|share| Some(100.0 * share.as_ref()?)).collect()
}
