//! Threads of the generator and of the server: how long each ran, and waited for a CPU.
//!
//! A thread that runs all the time is full, whatever the mean of the host shows.

use super::HostChart;
use super::side::{Drawn, Side};
use crate::page::{Block, Column, Grid, GridRow, Mark, Table};
use crate::wording::{or_dash, percent};
use model::order::OrderBy as _;
use model::units::show_fixed;
use observe::{DoingShares, Line, Observed, Process, SocketsOf, ThreadKey, ThreadShare};
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
    let sockets = match process {
        Process::Client => Vec::new(),
        Process::Server => side.seen(server_sockets).map_or(Vec::new(), |(sockets, _)| sockets),
    };
    blocks.extend(by_process(&shares, &sockets, &when).map(Block::Table));
    Drawn::Blocks(blocks)
}

/// Connections belong to a network namespace, which may be the server's own.
fn server_sockets(of: &Observed) -> Option<Vec<SocketsOf>> {
    let inside = || of.inside.as_ref()?.server_sockets.clone();
    of.server_sockets.clone().or_else(inside)
}

/// What each of several processes used of the CPUs, busiest first, and its part of the connections
/// where that is known.
fn by_process(threads: &[ThreadShare], sockets: &[SocketsOf], when: &str) -> Option<Table> {
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
    let mut of_what = "CPU time";
    if !sockets.is_empty() {
        columns.extend(["connections", "received %"].map(Column::numbers));
        of_what = "CPU time and connections";
    }
    let received: f64 = sockets.iter().map(|of| of.received_s).sum();
    let mut table = Table::new(columns).caption(format!("{of_what} by process, {when}")).folded();
    for (pid, (name, threads, cpus)) in used {
        let mut cells = vec![
            name.to_string(),
            pid.to_string(),
            threads.to_string(),
            show_fixed(cpus, 2),
            percent(100.0 * cpus / all),
        ];
        if !sockets.is_empty() {
            let own = sockets.iter().find(|of| of.pid == pid);
            let part = own.filter(|_| received > 0.0).map(|of| of.received_s / received);
            cells.push(or_dash(own, |of| of.connections.to_string()));
            cells.push(or_dash(part, |part| percent(100.0 * part)));
        }
        table.push(Mark::None, cells);
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
        assert_eq!(by_process(&one, &[], ""), None);
        let two = [&one[..], &[thread(9, 9, "worker", 2.25)]].concat();
        let table = by_process(&two, &[], "at 64").unwrap();
        let rows: Vec<&[String]> = table.rows.iter().map(|row| &row.cells[..]).collect();
        assert_eq!(rows[0], ["worker", "9", "1", "2.25", "75.0"]);
        assert_eq!(rows[1..], [["main", "7", "2", "0.75", "25.0"]]);
        let idle: Vec<ThreadShare> =
            two.into_iter().map(|thread| ThreadShare { run: 0.0, ..thread }).collect();
        assert_eq!(by_process(&idle, &[], ""), None, "a share of nothing");
    }

    #[test]
    fn each_process_has_its_cpu_time_and_the_connections_that_were_read() {
        let thread = |pid, run| ThreadShare { pid, tid: pid, run, ..ThreadShare::default() };
        let threads = [thread(7, 0.75), thread(8, 0.25), thread(9, 0.01)];
        let of = |pid, connections, received_s| SocketsOf { pid, connections, received_s };
        let last = |sockets: &[SocketsOf]| -> Vec<Vec<String>> {
            let rows = by_process(&threads, sockets, "at 64").unwrap().rows;
            rows.into_iter().map(|row| row.cells[5..].to_vec()).collect()
        };
        let sockets = [of(7, 6, 3e6), of(8, 0, 1e6)];
        assert_eq!(last(&sockets), [["6", "75.0"], ["0", "25.0"], ["-", "-"]]);
        let silent = sockets.map(|of| SocketsOf { received_s: 0.0, ..of });
        assert_eq!(last(&silent)[0], ["6", "-"], "a share of nothing");
        assert_eq!(last(&[])[0].len(), 0);
    }
}
