//! CPU time of each host by state, of the generator and of the server.

use crate::hosts::{FAR, Host, Waits, hosts, near, since_origin_s};
use crate::page::{Axis, Band, Block, Chart, ChartShape, Column, Series, Table, Unit, View};
use crate::wording::{mark_of, or_dash, percent, plural, point_heading, point_mark, point_phrase};
use model::facts::HostFacts;
use model::reading::Reading;
use model::run::Run;
use observe::{
    Process, Raw, STATES, Shares, ThreadShare, mean_shares, shares_over_time, threads_over_time,
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
    let waits = Waits::of(run, host.whose);
    for (point, observed) in &host.points {
        let shares = shares(observed).map(|shares| waits.shown(shares));
        let mut cells = vec![point_mark(point)];
        let share = |state: usize| or_dash(shares.and_then(|shares| shares[state]), percent);
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
    table.notes.extend(waits.note());
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
    blocks.extend(processes_charts(run).into_iter().map(Block::Chart));
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

/// One view over the time of the run, with the measured windows as bands.
pub(super) fn over_run(run: &Run, (x, series): (Vec<f64>, Vec<Series>)) -> Vec<View> {
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
    let waits = Waits::of(run, whose);
    let series = |(index, state): (usize, &&str)| Series {
        label: (*state).to_string(),
        y: shares.iter().map(|(_, shares)| waits.shown(*shares)[index]).collect(),
    };
    let is_known = |series: &Series| series.y.iter().any(Option::is_some);
    let series = STATES.iter().enumerate().map(series).filter(is_known).collect();
    let mut note = "All CPUs. The bars on top are measured windows.".to_string();
    if let Some(why) = waits.note() {
        note.push_str(&format!(" {why}"));
    }
    let at_s = |(at_ns, _): &(u64, _)| since_origin_s(run, at_ns.saturating_add_signed(-offset_ns));
    Some(Chart {
        id: id.to_string(),
        title: format!("CPU time of {whose} by state"),
        note,
        x: Axis::linear("time in the run", Unit::Seconds),
        y: Axis::linear("share", Unit::Percent),
        shape: ChartShape::Stacked,
        views: over_run(run, (shares.iter().map(at_s).collect(), series)),
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

/// A host with the processes of the run that are on it.
struct Shared<'a> {
    id: &'static str,
    whose: &'static str,
    readings: &'a [Reading],
    facts: &'a HostFacts,
    /// How far its clock is ahead of ours, nanoseconds.
    offset_ns: i64,
    processes: Vec<(&'static str, Vec<ThreadUse>)>,
}

fn processes_charts(run: &Run) -> Vec<Chart> {
    let mut near = Shared {
        id: "cpu-processes",
        whose: near(run),
        readings: &run.readings,
        facts: &run.record.host,
        offset_ns: 0,
        processes: vec![("generator", uses(run, Process::Client))],
    };
    let server = ("server process tree", uses(run, Process::Server));
    let Some(probe) = &run.record.target.probe else {
        near.processes.push(server);
        return processes_chart(run, near).into_iter().collect();
    };
    let far = Shared {
        id: "cpu-processes-server",
        whose: FAR,
        readings: &run.server_readings,
        facts: &probe.host,
        offset_ns: probe.clock.offset_ns,
        processes: vec![server],
    };
    [near, far].into_iter().filter_map(|host| processes_chart(run, host)).collect()
}

fn processes_chart(run: &Run, host: Shared<'_>) -> Option<Chart> {
    let total = |used: &ThreadUse| (used.at_s, used.cpus().map(|(_, cpus)| cpus).sum());
    let totals = |(label, used): &(_, Vec<ThreadUse>)| (*label, used.iter().map(total).collect());
    let mut processes: Vec<(&str, Vec<(f64, f64)>)> = host.processes.iter().map(totals).collect();
    processes.retain(|(_, used)| !used.is_empty());
    // Threads of many processes are read more rarely than those of few: each line is drawn at the
    // pace of the slowest.
    let step_s = processes.iter().map(|(_, used)| spacing_s(used)).max_by(f64::total_cmp)?;
    let begin_s = processes.iter().map(|(_, used)| used[0].0).min_by(f64::total_cmp)?;
    let end_s = processes.iter().map(|(_, used)| used[used.len() - 1].0).max_by(f64::total_cmp)?;
    let steps = ((end_s - begin_s) / step_s).round() as usize;
    let x: Vec<f64> = (0..=steps).map(|step| begin_s + step as f64 * step_s).collect();
    let paced = |used: &[(f64, f64)]| -> Vec<Option<f64>> {
        x.iter().map(|at_s| mean_near(used, *at_s, 0.75 * step_s)).collect()
    };
    let line = |(label, used): &(&str, Vec<_>)| Series { label: label.to_string(), y: paced(used) };
    let mut series: Vec<Series> = processes.iter().map(line).collect();
    let rest = |(at, busy): (usize, Option<f64>)| {
        let used: Option<f64> = series.iter().map(|process| process.y[at]).sum();
        // Both are sampled, not at quite the same instants.
        Some((busy? - used?).max(0.0))
    };
    let busy = paced(&busy_cpus(run, &host));
    let rest: Vec<Option<f64>> = busy.into_iter().enumerate().map(rest).collect();
    if rest.iter().any(Option::is_some) {
        series.push(Series { label: "everybody else".to_string(), y: rest });
    }
    Some(Chart {
        id: host.id.to_string(),
        title: format!("Who used the CPUs of {}", host.whose),
        note: "CPUs' worth of time. Everybody else is what the host was busy with beyond the \
               processes drawn, with interrupts that no process was charged for and without time \
               taken by the hypervisor."
            .to_string(),
        x: Axis::linear("time in the run", Unit::Seconds),
        y: Axis::linear("CPUs", Unit::Cpus),
        shape: ChartShape::Lines,
        views: over_run(run, (x, series)),
        selected: 0,
    })
}

/// CPUs' worth of time that all of a host was busy, by seconds since the origin.
fn busy_cpus(run: &Run, host: &Shared<'_>) -> Vec<(f64, f64)> {
    let cpus = host.facts.cpus_online.len() as f64;
    let busy = |(at_ns, shares): (u64, Shares)| {
        let percent: f64 = STATES
            .iter()
            .zip(shares)
            .filter(|(state, _)| !matches!(**state, "steal" | "iowait" | "idle"))
            .map(|(_, share)| share)
            .sum();
        let at_s = since_origin_s(run, at_ns.saturating_add_signed(-host.offset_ns));
        (at_s, percent / 100.0 * cpus)
    };
    shares_over_time(host.readings, host.facts.clock_tick_ns).into_iter().map(busy).collect()
}

/// Median time from value to value, seconds; of a single one a second.
fn spacing_s(values: &[(f64, f64)]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|two| two[1].0 - two[0].0).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().filter(|step_s| *step_s > 0.0).unwrap_or(1.0)
}

/// Mean of the values around an instant, when there are any.
fn mean_near(values: &[(f64, f64)], at_s: f64, within_s: f64) -> Option<f64> {
    let from = values.partition_point(|(value_s, _)| *value_s < at_s - within_s);
    let to = values.partition_point(|(value_s, _)| *value_s <= at_s + within_s);
    let near = &values[from..to];
    let sum: f64 = near.iter().map(|(_, value)| value).sum();
    (!near.is_empty()).then(|| sum / near.len() as f64)
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
        shape: ChartShape::Lines,
        views: over_run(run, (used.iter().map(|used| used.at_s).collect(), series)),
        selected: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use model::reading::Data;

    fn lines(run: &Run) -> Vec<Vec<String>> {
        let labels = |chart: Chart| {
            chart.views[0].series.iter().map(|series| series.label.clone()).collect()
        };
        processes_charts(run).into_iter().map(labels).collect()
    }

    #[test]
    fn everybody_else_is_a_line_where_the_host_was_read() {
        let mut run = fixtures::ramp_two_hosts();
        let everybody = "everybody else".to_string();
        let each = lines(&run);
        assert_eq!(each.len(), 2, "a chart for each host");
        assert_eq!(each[0], ["generator".to_string(), everybody.clone()]);
        assert_eq!(each[1], ["server process tree".to_string(), everybody]);
        run.readings.retain(|reading| !matches!(reading.data, Data::Cpus(_)));
        assert_eq!(lines(&run)[0], ["generator"], "absent, not zero");
    }

    #[test]
    fn what_is_read_rarely_is_drawn_all_the_way() {
        let mut run = fixtures::ramp_quota();
        let is_server = |reading: &Reading| matches!(reading.data, Data::ServerThreads(_));
        let mut nth = 0;
        run.readings.retain(|reading| {
            nth += usize::from(is_server(reading));
            !is_server(reading) || nth % 4 == 1 || nth == 2
        });
        let chart = &processes_charts(&run)[0];
        let view = &chart.views[0];
        for series in &view.series {
            assert!(series.y.iter().filter(|y| y.is_none()).count() <= 1, "{}", series.label);
        }
        assert!(view.x.len() > 10);
    }

    #[test]
    fn everybody_else_is_what_is_left_of_the_busy_time() {
        let run = fixtures::ramp_quota();
        let chart = &processes_charts(&run)[0];
        let busy = shares_over_time(&run.readings, run.record.host.clock_tick_ns);
        let cpus = run.record.host.cpus_online.len() as f64;
        let busy = busy.iter().map(|(_, shares)| shares[..4].iter().sum::<f64>() / 100.0 * cpus);
        let most = busy.fold(0.0, f64::max);
        for at in 0..chart.views[0].x.len() {
            let all: Option<f64> = chart.views[0].series.iter().map(|series| series.y[at]).sum();
            let used = chart.views[0].series[..2].iter().filter_map(|series| series.y[at]);
            let used: f64 = used.sum();
            assert!(all.is_none_or(|all| all <= most.max(used) + 1e-9), "{all:?} of {most}");
        }
    }
}
