//! CPU time of this host by state, of the generator and of the server.

use crate::page::{Axis, Band, Block, Chart, Column, Series, Shape, Table, Unit, View};
use crate::rates::{
    Process, STATES, ThreadKey, ThreadUse, shares_of, shares_over_time, since_origin_s,
    threads_over_time,
};
use crate::wording::{mark_of, or_dash, percent, plural, point_heading, point_mark, point_phrase};
use model::run::Run;
use std::collections::BTreeMap;

/// Shares by state and CPUs' worth of time per process, one row per point.
pub fn table(run: &Run) -> Vec<Block> {
    let points = &run.record.points;
    let rows: Vec<_> = points.iter().map(|point| (point, shares_of(run, point))).collect();
    let measured = |point: &model::run::Point| {
        point.cpu.client_cpus.is_some() || point.cpu.server_cpus.is_some()
    };
    if rows.iter().all(|(point, shares)| shares.is_none() && !measured(point)) {
        return Vec::new();
    }
    let mut columns = vec![Column::numbers(point_heading(run))];
    columns.extend(STATES.map(Column::numbers));
    columns.extend(["client CPUs", "server CPUs"].map(Column::numbers));
    let mut table = Table::new(columns);
    for (point, shares) in rows {
        let mut cells = vec![point_mark(point)];
        let share = |state: usize| or_dash(shares.map(|shares| shares[state]), percent);
        cells.extend((0..STATES.len()).map(share));
        let cpus = [point.cpu.client_cpus, point.cpu.server_cpus];
        cells.extend(cpus.map(|cpus| or_dash(cpus, |cpus| format!("{cpus:.2}"))));
        table.push(mark_of(run, point), cells);
    }
    let online = run.record.host.cpus_online.len();
    table.notes.push(format!(
        "States are percent of all {online} CPUs of this host and sum to 100. Whatever else runs \
         here is in them; the last two columns are the processes alone."
    ));
    vec![Block::Table(table)]
}

/// CPU by state, and by process and thread, over the whole run.
pub fn charts(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(states_chart(run).map(Block::Chart));
    blocks.extend(processes_chart(run).map(Block::Chart));
    let client = "client-threads";
    let title = "Generator, thread by thread";
    blocks.extend(threads_chart(run, Process::Client, client, title).map(Block::Chart));
    let (server, title) = ("server-threads", "Server, thread by thread");
    blocks.extend(threads_chart(run, Process::Server, server, title).map(Block::Chart));
    blocks
}

/// The measured window of each point.
fn windows(run: &Run) -> Vec<Band> {
    let band = |point| Band {
        label: point_phrase(point),
        from: since_origin_s(run, point.window_ns.0),
        to: since_origin_s(run, point.window_ns.1),
        mark: mark_of(run, point),
    };
    run.record.points.iter().map(band).collect()
}

fn over_run(run: &Run, x: Vec<f64>, series: Vec<Series>) -> Vec<View> {
    let bands = windows(run);
    vec![View { label: "whole run".to_string(), x, series, bands, ..View::default() }]
}

fn states_chart(run: &Run) -> Option<Chart> {
    let shares = shares_over_time(run);
    if shares.is_empty() {
        return None;
    }
    let series = |(index, state): (usize, &&str)| Series {
        label: (*state).to_string(),
        y: shares.iter().map(|(_, shares)| Some(shares[index])).collect(),
    };
    let series = STATES.iter().enumerate().map(series).collect();
    let who = if run.record.target.server.is_some() {
        "generator and server share it"
    } else {
        "the generator's"
    };
    Some(Chart {
        id: "cpu-states".to_string(),
        title: "CPU time by state".to_string(),
        note: format!("All CPUs of this host ({who}). The bars on top are measured windows."),
        x: Axis::linear("time in the run", Unit::Seconds),
        y: Axis::linear("share", Unit::Percent),
        shape: Shape::Stacked,
        views: over_run(run, shares.iter().map(|(at_s, _)| *at_s).collect(), series),
        selected: 0,
    })
}

/// Sum over the threads of the interval nearest to an instant, when one is near. The sources are
/// read one after the other, so that their instants differ by a little in each round.
fn total_at(used: &[ThreadUse], at_s: f64, near_s: f64) -> Option<f64> {
    let after = used.partition_point(|interval| interval.at_s < at_s - near_s);
    let interval = used.get(after).filter(|interval| interval.at_s <= at_s + near_s)?;
    Some(interval.cpus.values().sum())
}

fn processes_chart(run: &Run) -> Option<Chart> {
    let client = threads_over_time(run, Process::Client);
    let server = threads_over_time(run, Process::Server);
    let longest = if server.len() > client.len() { &server } else { &client };
    let spacing = longest.windows(2).map(|two| two[1].at_s - two[0].at_s).min_by(f64::total_cmp);
    let near_s = spacing.unwrap_or(1.0) / 2.0;
    if longest.is_empty() {
        return None;
    }
    let mut series = Vec::new();
    for (label, used) in [("generator", &client), ("server process tree", &server)] {
        if !used.is_empty() {
            let y = longest.iter().map(|at| total_at(used, at.at_s, near_s)).collect();
            series.push(Series { label: label.to_string(), y });
        }
    }
    let x = longest.iter().map(|used| used.at_s).collect();
    Some(Chart {
        id: "cpu-processes".to_string(),
        title: "CPU of generator and server".to_string(),
        note: "CPUs' worth of time, from the scheduler.".to_string(),
        x: Axis::linear("time in the run", Unit::Seconds),
        y: Axis::linear("CPUs", Unit::Cpus),
        shape: Shape::Lines,
        views: over_run(run, x, series),
        selected: 0,
    })
}

/// Threads with a line of their own; the others are summed.
const THREADS_MAX: usize = 8;

fn threads_chart(run: &Run, process: Process, id: &str, title: &str) -> Option<Chart> {
    let used = threads_over_time(run, process);
    let mut sums: BTreeMap<&ThreadKey, f64> = BTreeMap::new();
    for (thread, cpus) in used.iter().flat_map(|used| &used.cpus) {
        *sums.entry(thread).or_default() += cpus;
    }
    let mut busiest: Vec<(&ThreadKey, f64)> = sums.into_iter().collect();
    if busiest.is_empty() {
        return None;
    }
    busiest.sort_by(|left, right| right.1.total_cmp(&left.1));
    let others = busiest.split_off(busiest.len().min(THREADS_MAX));
    let mut series: Vec<Series> = Vec::new();
    for (thread, _) in &busiest {
        let label = format!("{} {}", thread.name, thread.tid);
        series
            .push(Series { label, y: used.iter().map(|u| u.cpus.get(thread).copied()).collect() });
    }
    if !others.is_empty() {
        let rest = |used: &ThreadUse| {
            Some(others.iter().filter_map(|(thread, _)| used.cpus.get(thread)).sum())
        };
        let label = format!("{} less busy", plural(others.len() as u64, "thread"));
        series.push(Series { label, y: used.iter().map(rest).collect() });
    }
    Some(Chart {
        id: id.to_string(),
        title: title.to_string(),
        note: "A thread at 1.0 has no time left, whatever the host's average says.".to_string(),
        x: Axis::linear("time in the run", Unit::Seconds),
        y: Axis::linear("CPUs", Unit::Cpus),
        shape: Shape::Lines,
        views: over_run(run, used.iter().map(|used| used.at_s).collect(), series),
        selected: 0,
    })
}
