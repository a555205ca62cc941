//! Display rates: what changed between two readings, divided by the time between them.
//!
//! Nothing here is averaged, fitted or judged. A counter that is missing in one of the two
//! readings gives no figure, never a zero.

use model::reading::{CpuTimes, Data, Interface, QuotaUse, Reading, Softnet, ThreadTimes};
use model::run::{Point, Run};
use model::units::NS_PER_S;
use std::collections::BTreeMap;

/// CPU states in the order they are shown. Together they are all of the time.
pub(crate) const STATES: [&str; 7] = ["usr", "sys", "softirq", "irq", "steal", "iowait", "idle"];

/// Shares of CPU time by state, in percent, in the order of [`STATES`].
pub(crate) type Shares = [f64; STATES.len()];

/// Two reads of one source: what was read and when.
struct Pair<'a, T: ?Sized> {
    first: &'a T,
    last: &'a T,
    elapsed_s: f64,
    /// Middle of the interval.
    at_ns: u64,
}

fn pair<'a, T: ?Sized>(left: (&Reading, &'a T), right: (&Reading, &'a T)) -> Option<Pair<'a, T>> {
    let (begin_ns, end_ns) = (left.0.at_ns(), right.0.at_ns());
    let elapsed_ns = end_ns.checked_sub(begin_ns).filter(|elapsed_ns| *elapsed_ns > 0)?;
    let elapsed_s = elapsed_ns as f64 / NS_PER_S as f64;
    Some(Pair { first: left.1, last: right.1, elapsed_s, at_ns: begin_ns + elapsed_ns / 2 })
}

/// First and last read of a source inside a point's window.
fn ends<'a, T: ?Sized + 'a>(
    run: &'a Run,
    point: &'a Point,
    pick: impl Fn(&'a Data) -> Option<&'a T>,
) -> Option<Pair<'a, T>> {
    first_and_last(run.readings_of(point), pick)
}

fn first_and_last<'a, T: ?Sized + 'a>(
    readings: impl Iterator<Item = &'a Reading>,
    pick: impl Fn(&'a Data) -> Option<&'a T>,
) -> Option<Pair<'a, T>> {
    let mut picked = readings.filter_map(|read| Some((read, pick(&read.data)?)));
    let first = picked.next()?;
    pair(first, picked.last()?)
}

/// Each two reads of a source that follow each other.
fn steps<'a, T: ?Sized + 'a>(
    readings: &'a [Reading],
    pick: impl Fn(&'a Data) -> Option<&'a T>,
) -> impl Iterator<Item = Pair<'a, T>> {
    let picked: Vec<_> =
        readings.iter().filter_map(|read| Some((read, pick(&read.data)?))).collect();
    let pairs: Vec<_> = picked.windows(2).filter_map(|two| pair(two[0], two[1])).collect();
    pairs.into_iter()
}

/// Where a process was read, and how far the clock there is ahead of ours, nanoseconds.
fn readings_about(run: &Run, process: Process) -> (&[Reading], i64) {
    match (&run.record.target.probe, process) {
        (Some(probe), Process::Server) => (&run.server_readings, probe.clock.offset_ns),
        _ => (&run.readings, 0),
    }
}

/// The instant that charts over the whole run call zero.
pub(crate) fn origin_ns(run: &Run) -> u64 {
    let first_reading = run.readings.first().map(|reading| reading.begin_ns);
    let first_window = run.record.points.first().map(|point| point.window_ns.0);
    first_reading.into_iter().chain(first_window).min().unwrap_or(0)
}

/// Seconds since [`origin_ns`].
pub(crate) fn since_origin_s(run: &Run, at_ns: u64) -> f64 {
    at_ns.saturating_sub(origin_ns(run)) as f64 / NS_PER_S as f64
}

/// Mean shares over all CPUs, in percent; every CPU weighs the same.
fn shares(pair: &Pair<'_, [CpuTimes]>, tick_ns: u64) -> Option<Shares> {
    let mut sum = [0.0; STATES.len()];
    let mut cpus = 0.0;
    for after in pair.last {
        let Some(before) = pair.first.iter().find(|before| before.cpu == after.cpu) else {
            continue;
        };
        let passed_ns = pair.elapsed_s * NS_PER_S as f64;
        let Some(of) = after.shares_since(before, passed_ns, tick_ns) else { continue };
        let each = [of.user, of.system, of.softirq, of.irq, of.steal, of.iowait, of.idle];
        sum.iter_mut().zip(each).for_each(|(sum, share)| *sum += 100.0 * share);
        cpus += 1.0;
    }
    (cpus > 0.0).then(|| sum.map(|share| share / cpus))
}

/// Shares of host CPU time in a point's window.
pub(crate) fn shares_of(run: &Run, point: &Point) -> Option<Shares> {
    let pair = ends(run, point, cpus_in)?;
    shares(&pair, run.record.host.clock_tick_ns)
}

/// Shares of host CPU time over the whole run: seconds since the origin, shares.
pub(crate) fn shares_over_time(run: &Run) -> Vec<(f64, Shares)> {
    steps(&run.readings, cpus_in)
        .filter_map(|step| {
            let shares = shares(&step, run.record.host.clock_tick_ns)?;
            Some((since_origin_s(run, step.at_ns), shares))
        })
        .collect()
}

/// Which process a figure of threads is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    /// The generator.
    Client,
    /// The server's process tree.
    Server,
}

/// A thread in all readings of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ThreadKey {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) name: String,
}

/// CPUs' worth of time each thread used in one interval.
pub(crate) struct ThreadUse {
    pub(crate) at_s: f64,
    pub(crate) cpus: BTreeMap<ThreadKey, f64>,
}

/// CPU use of a process over the whole run. A thread that is new since the reading before used
/// all of its time since then.
pub(crate) fn threads_over_time(run: &Run, process: Process) -> Vec<ThreadUse> {
    let (readings, offset_ns) = readings_about(run, process);
    let use_of = |step: Pair<'_, [ThreadTimes]>| {
        let mut before = BTreeMap::new();
        for thread in step.first {
            before.insert((thread.pid, thread.tid), thread.run_ns);
        }
        let mut cpus = BTreeMap::new();
        for thread in step.last {
            let earlier_ns = before.get(&(thread.pid, thread.tid)).copied().unwrap_or(0);
            let used_s = thread.run_ns.saturating_sub(earlier_ns) as f64 / NS_PER_S as f64;
            let name = thread.name.clone();
            let key = ThreadKey { pid: thread.pid, tid: thread.tid, name };
            cpus.insert(key, used_s / step.elapsed_s);
        }
        ThreadUse { at_s: since_origin_s(run, step.at_ns.saturating_add_signed(-offset_ns)), cpus }
    };
    steps(readings, |data| threads_in(data, process)).map(use_of).collect()
}

/// What one interface did in a point's window.
pub(crate) struct InterfaceRates {
    pub(crate) name: String,
    pub(crate) rx_bytes_per_s: f64,
    pub(crate) rx_packets_per_s: f64,
    pub(crate) tx_bytes_per_s: f64,
    pub(crate) tx_packets_per_s: f64,
    pub(crate) dropped: u64,
}

/// Rates of the interfaces that moved anything in a point's window.
pub(crate) fn interfaces_of(run: &Run, point: &Point) -> Vec<InterfaceRates> {
    let Some(pair) = ends(run, point, interfaces_in) else { return Vec::new() };
    let rates_of = |after: &Interface| {
        let before = pair.first.iter().find(|before| before.name == after.name)?;
        let changed = |field: fn(&Interface) -> u64| field(after).saturating_sub(field(before));
        let rate = |field: fn(&Interface) -> u64| changed(field) as f64 / pair.elapsed_s;
        let moved = changed(|i| i.rx_packets) + changed(|i| i.tx_packets);
        (moved > 0).then(|| InterfaceRates {
            name: after.name.clone(),
            rx_bytes_per_s: rate(|i| i.rx_bytes),
            rx_packets_per_s: rate(|i| i.rx_packets),
            tx_bytes_per_s: rate(|i| i.tx_bytes),
            tx_packets_per_s: rate(|i| i.tx_packets),
            dropped: changed(|i| i.rx_dropped) + changed(|i| i.tx_dropped),
        })
    };
    pair.last.iter().filter_map(rates_of).collect()
}

/// How much a TCP counter grew in a point's window.
pub(crate) fn tcp_growth(run: &Run, point: &Point, name: &str) -> Option<u64> {
    let pair = ends(run, point, tcp_in)?;
    Some(pair.last.get(name)?.saturating_sub(*pair.first.get(name)?))
}

/// How much a receive-path counter grew in a point's window, all CPUs. The counters are 32 bits
/// wide and wrap.
pub(crate) fn softnet_growth(run: &Run, point: &Point, field: fn(&Softnet) -> u32) -> Option<u64> {
    let pair = ends(run, point, softnet_in)?;
    let growth = |after: &Softnet| {
        let before = pair.first.iter().find(|before| before.cpu == after.cpu)?;
        Some(u64::from(field(after).wrapping_sub(field(before))))
    };
    Some(pair.last.iter().filter_map(growth).sum())
}

/// Share of CPU bandwidth periods in which a control group of a process was throttled, in
/// percent; of the group where it was highest.
pub(crate) fn throttled_percent(run: &Run, point: &Point, process: Process) -> Option<f64> {
    let readings = match process {
        Process::Client => run.readings_of(point).collect(),
        Process::Server => run.server_readings_of(point),
    };
    let pair = first_and_last(readings.into_iter(), |data| quota_in(data, process))?;
    let share = |after: &QuotaUse| {
        let before = pair.first.iter().find(|before| before.group == after.group)?;
        let periods = after.periods.saturating_sub(before.periods);
        let throttled = after.throttled_periods.saturating_sub(before.throttled_periods);
        (periods > 0).then(|| 100.0 * throttled as f64 / periods as f64)
    };
    pair.last.iter().filter_map(share).max_by(f64::total_cmp)
}

/// Share of a point's window in which something waited for a resource, in percent.
pub(crate) fn pressure_percent(run: &Run, point: &Point, name: &str) -> Option<f64> {
    let pair = ends(run, point, pressure_in)?;
    let stalled_us = pair.last.get(name)?.saturating_sub(*pair.first.get(name)?);
    Some(stalled_us as f64 / 1e4 / pair.elapsed_s)
}

fn cpus_in(data: &Data) -> Option<&[CpuTimes]> {
    if let Data::Cpus(cpus) = data { Some(cpus) } else { None }
}

fn softnet_in(data: &Data) -> Option<&[Softnet]> {
    if let Data::Softnet(cpus) = data { Some(cpus) } else { None }
}

fn interfaces_in(data: &Data) -> Option<&[Interface]> {
    if let Data::Interfaces(interfaces) = data { Some(interfaces) } else { None }
}

fn tcp_in(data: &Data) -> Option<&BTreeMap<String, u64>> {
    if let Data::Tcp(counters) = data { Some(counters) } else { None }
}

fn pressure_in(data: &Data) -> Option<&BTreeMap<String, u64>> {
    if let Data::Pressure(stalls) = data { Some(stalls) } else { None }
}

fn threads_in(data: &Data, process: Process) -> Option<&[ThreadTimes]> {
    match (process, data) {
        (Process::Client, Data::ClientThreads(threads))
        | (Process::Server, Data::ServerThreads(threads)) => Some(threads),
        _ => None,
    }
}

fn quota_in(data: &Data, process: Process) -> Option<&[QuotaUse]> {
    match (process, data) {
        (Process::Client, Data::ClientQuota(groups))
        | (Process::Server, Data::ServerQuota(groups)) => Some(groups),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn cpu(user: u64, iowait: u64, idle: u64) -> CpuTimes {
        CpuTimes { user, iowait, idle, ..CpuTimes::default() }
    }

    /// Shares over one second of a hundred ticks.
    fn shares_in_a_second(first: &[CpuTimes], last: &[CpuTimes]) -> Shares {
        let pair = Pair { first, last, elapsed_s: 1.0, at_ns: 0 };
        shares(&pair, NS_PER_S / 100).unwrap()
    }

    #[test]
    fn states_add_up_to_a_hundred_even_when_a_counter_steps_back() {
        let shares = shares_in_a_second(&[cpu(100, 50, 1000)], &[cpu(130, 49, 1070)]);
        let whole = shares.iter().sum::<f64>();
        assert!((whole - 100.0).abs() < 1e-9, "{whole}");
        assert_eq!((shares[5], shares[6]), (0.0, 70.0));
        assert!((shares[0] - 30.0).abs() < 1e-9, "{shares:?}");
        for (name, run) in fixtures::all() {
            for (at_s, shares) in shares_over_time(&run) {
                let sum: f64 = shares.iter().sum();
                assert!((sum - 100.0).abs() < 1e-9, "{name} at {at_s}: {sum}");
            }
        }
    }

    #[test]
    fn a_cpu_that_came_or_went_is_left_out() {
        let first = [cpu(0, 0, 0)];
        let mut late = cpu(500, 0, 0);
        late.cpu = 1;
        let shares = shares_in_a_second(&first, &[cpu(25, 0, 75), late]);
        assert_eq!((shares[0], shares[6]), (25.0, 75.0));
    }

    #[test]
    fn a_new_thread_used_all_its_time_since_the_reading_before() {
        let mut run = fixtures::ramp_quota();
        let thread = |tid, run_ns| ThreadTimes { pid: 1, tid, run_ns, ..ThreadTimes::default() };
        let reading = |at_s: u64, threads| Reading {
            begin_ns: at_s * NS_PER_S,
            end_ns: at_s * NS_PER_S,
            data: Data::ServerThreads(threads),
        };
        run.readings = vec![
            reading(1, vec![thread(1, 5 * NS_PER_S), thread(2, 9 * NS_PER_S)]),
            reading(3, vec![thread(1, 6 * NS_PER_S), thread(3, NS_PER_S / 2)]),
        ];
        let used = threads_over_time(&run, Process::Server);
        let cpus: Vec<f64> = used[0].cpus.values().copied().collect();
        assert_eq!(cpus, [0.5, 0.25], "a thread that went is not negative");
    }

    #[test]
    fn what_was_not_read_has_no_rate() {
        let run = fixtures::ramp_unknown();
        let point = &run.record.points[0];
        assert_eq!(throttled_percent(&run, point, Process::Server), None);
        assert_eq!(pressure_percent(&run, point, "cpu.some"), None);
        assert_eq!(tcp_growth(&run, point, "TcpExt.Nothing"), None);
        assert!(shares_of(&run, point).is_some());
    }
}
