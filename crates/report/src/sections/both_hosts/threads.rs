//! Threads of the generator and of the server: how long each ran, and waited for a CPU.
//!
//! A thread that runs all the time is full, whatever the mean of the host shows.

use super::HostChart;
use super::side::{Drawn, Side};
use crate::page::{Block, Column, Grid, GridRow, Mark, Table};
use crate::wording::{or_dash, percent};
use model::order::OrderBy as _;
use model::units::show_fixed;
use observe::{DoingShares, Line, Process, ThreadKey, ThreadShare};
use std::collections::BTreeMap;

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
    let mut blocks = vec![Block::Grid(Grid {
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
    })];
    blocks.extend(by_process(&shares, &when).map(Block::Table));
    Drawn::Blocks(blocks)
}

/// What each of several processes used of the CPUs, busiest first.
fn by_process(threads: &[ThreadShare], when: &str) -> Option<Table> {
    let mut used: BTreeMap<u32, (&str, u32, f64)> = BTreeMap::new();
    for thread in threads {
        let (name, count, cpus) = used.entry(thread.pid).or_insert((&thread.name, 0, 0.0));
        if thread.tid == thread.pid {
            *name = &thread.name;
        }
        (*count, *cpus) = (*count + 1, *cpus + thread.run);
    }
    let all: f64 = used.values().map(|(_, _, cpus)| cpus).sum();
    if used.len() < 2 || all <= 0.0 {
        return None;
    }
    let mut used: Vec<(u32, (&str, u32, f64))> = used.into_iter().collect();
    used.order_by(|(_, left), (_, right)| right.2.total_cmp(&left.2));
    let mut columns = vec![Column::words("process")];
    columns.extend(["pid", "threads", "CPUs", "share %"].map(Column::numbers));
    let mut table = Table::new(columns).caption(format!("CPU time by process, {when}")).folded();
    for (pid, (name, threads, cpus)) in used {
        let cells = [
            pid.to_string(),
            threads.to_string(),
            show_fixed(cpus, 2),
            percent(100.0 * cpus / all),
        ];
        table.push(Mark::None, [vec![name.to_string()], cells.to_vec()].concat());
    }
    Some(table)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_processes_have_a_row_each_and_one_has_none() {
        let thread = |pid, tid, name: &str, run| ThreadShare {
            name: name.to_string(),
            ..ThreadShare { pid, tid, run, ..ThreadShare::default() }
        };
        let one = [thread(7, 8, "pool", 0.5), thread(7, 7, "main", 0.25)];
        assert_eq!(by_process(&one, ""), None);
        let two = [&one[..], &[thread(9, 9, "worker", 2.25)]].concat();
        let table = by_process(&two, "at 64").unwrap();
        let rows: Vec<&[String]> = table.rows.iter().map(|row| &row.cells[..]).collect();
        assert_eq!(rows[0], ["worker", "9", "1", "2.25", "75.0"]);
        assert_eq!(rows[1..], [["main", "7", "2", "0.75", "25.0"]]);
        let idle: Vec<ThreadShare> =
            two.into_iter().map(|thread| ThreadShare { run: 0.0, ..thread }).collect();
        assert_eq!(by_process(&idle, ""), None, "a share of nothing");
    }
}
