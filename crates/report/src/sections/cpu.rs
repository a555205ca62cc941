//! CPU time of each host by state, of the generator and of the server.

use crate::hosts::{FAR, Host, hosts, near, since_origin_s};
use crate::page::{Axis, Band, Block, Chart, Column, Series, Shape, Table, Unit, View};
use crate::wording::{mark_of, or_dash, percent, plural, point_heading, point_mark, point_phrase};
use model::reading::Reading;
use model::run::Run;
use observe::{
    Process, Raw, STATES, ThreadShare, mean_shares, shares_over_time, threads_over_time,
};
use std::collections::{BTreeMap, BTreeSet};

/// Shares by state and CPUs' worth of time per process, one row per point, for each host.
pub fn table(run: &Run) -> Vec<Block> {
    hosts(run).iter().filter_map(|host| table_of(run, host)).map(Block::Table).collect()
}

fn table_of(run: &Run, host: &Host<'_>) -> Option<Table> {
    // What the processes used is known once, whichever host they were on.
    let is_near = host.whose != FAR;
    let shares = |of: &observe::Observed| mean_shares(of.cpus.as_deref()?);
    let used = |point: &model::run::Point| {
        let cpus = [point.cpu.client_cpus, point.cpu.server_cpus];
        cpus.map(|cpus| cpus.filter(|_| is_near))
    };
    let is_empty = |(point, of): &(&model::run::Point, observe::Observed)| {
        shares(of).is_none() && used(point) == [None, None]
    };
    if host.points.iter().all(is_empty) {
        return None;
    }
    let mut columns = vec![Column::numbers(point_heading(run))];
    columns.extend(STATES.map(Column::numbers));
    if is_near {
        columns.extend(["client CPUs", "server CPUs"].map(Column::numbers));
    }
    let mut table = Table::new(columns).caption(format!("CPU time of {}", host.whose));
    for (point, observed) in &host.points {
        let shares = shares(observed);
        let mut cells = vec![point_mark(point)];
        let share = |state: usize| or_dash(shares.map(|shares| shares[state]), percent);
        cells.extend((0..STATES.len()).map(share));
        if is_near {
            cells.extend(used(point).map(|cpus| or_dash(cpus, |cpus| format!("{cpus:.2}"))));
        }
        table.push(mark_of(run, point), cells);
    }
    let facts = match &run.record.target.probe {
        Some(probe) if !is_near => &probe.host,
        _ => &run.record.host,
    };
    let online = facts.cpus_online.len();
    let processes = if is_near { "; the last two columns are the processes alone" } else { "" };
    table.notes.push(format!(
        "States are percent of all {online} CPUs of this host and sum to 100. Whatever else runs \
         here is in them{processes}."
    ));
    Some(table)
}

/// CPU by state, and by process and thread, over the whole run.
pub fn charts(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    let tick_ns = run.record.host.clock_tick_ns;
    let host = ("cpu-states", near(run));
    blocks.extend(states_chart(run, host, &run.readings, (tick_ns, 0)).map(Block::Chart));
    if let Some(probe) = &run.record.target.probe {
        let clock = (probe.host.clock_tick_ns, probe.clock.offset_ns);
        let host = ("cpu-states-server", FAR);
        blocks.extend(states_chart(run, host, &run.server_readings, clock).map(Block::Chart));
    }
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

/// CPU time of one host by state; the offset is how far its clock is ahead of ours, nanoseconds.
fn states_chart(
    run: &Run,
    (id, whose): (&str, &str),
    readings: &[Reading],
    (clock_tick_ns, offset_ns): (u64, i64),
) -> Option<Chart> {
    let shares = shares_over_time(readings, clock_tick_ns);
    if shares.is_empty() {
        return None;
    }
    let series = |(index, state): (usize, &&str)| Series {
        label: (*state).to_string(),
        y: shares.iter().map(|(_, shares)| Some(shares[index])).collect(),
    };
    let series = STATES.iter().enumerate().map(series).collect();
    let at_s = |(at_ns, _): &(u64, _)| since_origin_s(run, at_ns.saturating_add_signed(-offset_ns));
    Some(Chart {
        id: id.to_string(),
        title: format!("CPU time of {whose} by state"),
        note: "All CPUs. The bars on top are measured windows.".to_string(),
        x: Axis::linear("time in the run", Unit::Seconds),
        y: Axis::linear("share", Unit::Percent),
        shape: Shape::Stacked,
        views: over_run(run, shares.iter().map(at_s).collect(), series),
        selected: 0,
    })
}

/// A thread in all readings of a run: process, thread, name.
type ThreadKey<'a> = (u32, u32, &'a str);

/// How the threads of a process spent one interval, with its middle in seconds since the origin.
struct ThreadUse {
    at_s: f64,
    threads: Vec<ThreadShare>,
}

impl ThreadUse {
    fn cpus(&self) -> impl Iterator<Item = (ThreadKey<'_>, f64)> {
        self.threads
            .iter()
            .map(|thread| ((thread.pid, thread.tid, thread.name.as_str()), thread.run))
    }
}

fn uses(run: &Run, process: Process) -> Vec<ThreadUse> {
    let of = |(at_ns, threads)| ThreadUse { at_s: since_origin_s(run, at_ns), threads };
    threads_over_time(&run.record, Raw::from(run), process).into_iter().map(of).collect()
}

/// Sum over the threads of the interval nearest to an instant, when one is near. The sources are
/// read one after the other, so that their instants differ by a little in each round.
fn total_at(used: &[ThreadUse], at_s: f64, near_s: f64) -> Option<f64> {
    let after = used.partition_point(|interval| interval.at_s < at_s - near_s);
    let interval = used.get(after).filter(|interval| interval.at_s <= at_s + near_s)?;
    Some(interval.cpus().map(|(_, cpus)| cpus).sum())
}

fn processes_chart(run: &Run) -> Option<Chart> {
    let (client, server) = (uses(run, Process::Client), uses(run, Process::Server));
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
    let used = uses(run, process);
    let mut sums: BTreeMap<ThreadKey<'_>, f64> = BTreeMap::new();
    for (thread, cpus) in used.iter().flat_map(ThreadUse::cpus) {
        *sums.entry(thread).or_default() += cpus;
    }
    let mut busiest: Vec<(ThreadKey<'_>, f64)> = sums.into_iter().collect();
    if busiest.is_empty() {
        return None;
    }
    busiest.sort_by(|left, right| right.1.total_cmp(&left.1));
    let others = busiest.split_off(busiest.len().min(THREADS_MAX));
    let mut series: Vec<Series> = Vec::new();
    for (thread, _) in &busiest {
        let (_, tid, name) = thread;
        let of =
            |used: &ThreadUse| used.cpus().find_map(|(key, cpus)| (key == *thread).then_some(cpus));
        let y = used.iter().map(of).collect();
        series.push(Series { label: format!("{name} {tid}"), y });
    }
    if !others.is_empty() {
        let label = format!("{} less busy", plural(others.len() as u64, "thread"));
        let others: BTreeSet<_> = others.iter().map(|(thread, _)| thread).collect();
        let rest = |used: &ThreadUse| {
            Some(used.cpus().filter(|(key, _)| others.contains(key)).map(|(_, cpus)| cpus).sum())
        };
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
