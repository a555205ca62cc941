//! What the readings of one window say: deltas and shares, with nothing decided.
//!
//! Cumulative counters are differenced between the first and the last reading of each source that
//! lie wholly inside the window, over the time between those two reads.

use model::facts::Unreadable;
use model::reading::{
    Connection, CpuShares, CpuTimes, Data, OpenFiles, QuotaUse, Reading, ThreadTimes,
};
use std::collections::BTreeMap;

/// How one CPU spent the window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuShare {
    /// CPU number.
    pub cpu: u32,
    /// Shares by state.
    pub shares: CpuShares,
    /// Time accounted for over time passed; 1 when the states add up.
    pub accounted: f64,
}

impl CpuShare {
    /// Everything but idle.
    pub fn busy(&self) -> f64 {
        self.shares.busy()
    }
}

/// How one thread spent the window, shares of its length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadShare {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// On a CPU.
    pub run: f64,
    /// Runnable and waiting for a CPU.
    pub wait: f64,
}

impl ThreadShare {
    /// Had work: ran or waited to run.
    pub fn wanted(&self) -> f64 {
        self.run + self.wait
    }
}

/// What one control group's CPU limit did in the window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuotaShare {
    /// Path of the group.
    pub group: String,
    /// CPUs' worth of time it allows; absent when unlimited.
    pub allowed_cpus: Option<f64>,
    /// Share of periods in which it throttled.
    pub throttled_periods: f64,
    /// Throttled time over window; can exceed 1 with many threads.
    pub throttled_time: f64,
}

/// The fullest an accept queue was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueuePeak {
    /// Connections waiting.
    pub queued: u32,
    /// Length it may reach.
    pub backlog: u32,
}

/// Where bytes were waiting in sampled connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketCensus {
    /// Server-side sockets looked at.
    pub server: u64,
    /// Of them, with unread bytes: requests the application has not read.
    pub server_unread: u64,
    /// Client-side sockets looked at.
    pub client: u64,
    /// Of them, with unread bytes: answers the generator has not read.
    pub client_unread: u64,
}

/// Everything the readings of a window say. What was not read is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Host-wide CPU shares.
    pub cpus: Option<Vec<CpuShare>>,
    /// Threads of the generator.
    pub client_threads: Option<Vec<ThreadShare>>,
    /// Threads of the server.
    pub server_threads: Option<Vec<ThreadShare>>,
    /// Control groups of the generator, innermost first.
    pub client_quotas: Option<Vec<QuotaShare>>,
    /// Control groups of the server, innermost first.
    pub server_quotas: Option<Vec<QuotaShare>>,
    /// TCP counters, increase over the window.
    pub tcp: Option<BTreeMap<String, u64>>,
    /// Pressure stall time over window, by name.
    pub pressure: Option<BTreeMap<String, f64>>,
    /// Descriptors of the generator, at the worst.
    pub client_files: Option<OpenFiles>,
    /// Descriptors of the server, at the worst.
    pub server_files: Option<OpenFiles>,
    /// Accept queues of the port, at the worst.
    pub listeners: Option<QueuePeak>,
    /// Sampled connections.
    pub census: Option<SocketCensus>,
    /// CPUs' worth of time of the probe itself.
    pub probe_cpus: Option<f64>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// First and last of one kind of reading, with the seconds between them.
struct Pair<'a, T: ?Sized> {
    first: &'a T,
    last: &'a T,
    seconds: f64,
}

impl Observed {
    /// Reads a window's readings. `clock_tick_ns` is the unit of `/proc/stat`.
    pub fn of<'a>(readings: impl IntoIterator<Item = &'a Reading>, clock_tick_ns: u64) -> Self {
        let readings: Vec<_> = readings.into_iter().collect();
        let threads = |pair: Pair<'_, [ThreadTimes]>| thread_shares(&pair);
        let quotas = |pair: Pair<'_, [QuotaUse]>| quota_shares(&pair);
        Self {
            cpus: pair(&readings, |data| match data {
                Data::Cpus(cpus) => Some(&cpus[..]),
                _ => None,
            })
            .map(|pair| cpu_shares(&pair, clock_tick_ns)),
            client_threads: pair(&readings, |data| match data {
                Data::ClientThreads(threads) => Some(&threads[..]),
                _ => None,
            })
            .map(threads),
            server_threads: pair(&readings, |data| match data {
                Data::ServerThreads(threads) => Some(&threads[..]),
                _ => None,
            })
            .map(threads),
            client_quotas: pair(&readings, |data| match data {
                Data::ClientQuota(quotas) => Some(&quotas[..]),
                _ => None,
            })
            .map(quotas),
            server_quotas: pair(&readings, |data| match data {
                Data::ServerQuota(quotas) => Some(&quotas[..]),
                _ => None,
            })
            .map(quotas),
            tcp: pair(&readings, |data| match data {
                Data::Tcp(counters) => Some(counters),
                _ => None,
            })
            .map(|pair| increase(pair.first, pair.last)),
            pressure: pair(&readings, |data| match data {
                Data::Pressure(stalls) => Some(stalls),
                _ => None,
            })
            .map(|pair| pressure_shares(&pair)),
            probe_cpus: pair(&readings, |data| match data {
                Data::ProbeCost(cost) => Some(cost),
                _ => None,
            })
            .map(|pair| {
                pair.last.cpu_ns.saturating_sub(pair.first.cpu_ns) as f64 / 1e9 / pair.seconds
            }),
            client_files: worst_files(&readings, |data| match data {
                Data::ClientFiles(files) => Some(*files),
                _ => None,
            }),
            server_files: worst_files(&readings, |data| match data {
                Data::ServerFiles(files) => Some(*files),
                _ => None,
            }),
            listeners: queue_peak(&readings),
            census: census(&readings),
            unreadable: readings.iter().filter_map(|reading| unreadable(reading)).collect(),
        }
    }

    /// CPUs' worth of time the server's threads used.
    pub fn server_cpus(&self) -> Option<f64> {
        Some(self.server_threads.as_ref()?.iter().map(|thread| thread.run).sum())
    }
}

fn unreadable(reading: &Reading) -> Option<Unreadable> {
    match &reading.data {
        Data::Unreadable(unreadable) => Some(unreadable.clone()),
        _ => None,
    }
}

fn pair<'a, T: ?Sized>(
    readings: &[&'a Reading],
    pick: impl Fn(&'a Data) -> Option<&'a T>,
) -> Option<Pair<'a, T>> {
    let mut found = readings.iter().filter_map(|reading| Some((*reading, pick(&reading.data)?)));
    let (first_reading, first) = found.next()?;
    let (last_reading, last) = found.last()?;
    let seconds = last_reading.at_ns().saturating_sub(first_reading.at_ns()) as f64 / 1e9;
    (seconds > 0.0).then_some(Pair { first, last, seconds })
}

fn cpu_shares(pair: &Pair<'_, [CpuTimes]>, clock_tick_ns: u64) -> Vec<CpuShare> {
    let passed_ns = pair.seconds * 1e9;
    let share = |last: &CpuTimes| {
        let first = pair.first.iter().find(|first| first.cpu == last.cpu)?;
        let total_ns = last.total().saturating_sub(first.total()) as f64 * clock_tick_ns as f64;
        Some(CpuShare {
            cpu: last.cpu,
            shares: last.shares_since(first, passed_ns, clock_tick_ns)?,
            accounted: total_ns / passed_ns,
        })
    };
    pair.last.iter().filter_map(share).collect()
}

fn thread_shares(pair: &Pair<'_, [ThreadTimes]>) -> Vec<ThreadShare> {
    let passed_ns = pair.seconds * 1e9;
    let share = |last: &ThreadTimes| {
        let first = pair.first.iter().find(|first| (first.pid, first.tid) == (last.pid, last.tid));
        // A thread that was not there before began at zero inside the window.
        let (run_ns, wait_ns) = first.map_or((0, 0), |first| (first.run_ns, first.wait_ns));
        ThreadShare {
            pid: last.pid,
            tid: last.tid,
            name: last.name.clone(),
            run: last.run_ns.saturating_sub(run_ns) as f64 / passed_ns,
            wait: last.wait_ns.saturating_sub(wait_ns) as f64 / passed_ns,
        }
    };
    pair.last.iter().map(share).collect()
}

fn quota_shares(pair: &Pair<'_, [QuotaUse]>) -> Vec<QuotaShare> {
    let share = |last: &QuotaUse| {
        let first = pair.first.iter().find(|first| first.group == last.group)?;
        let periods = last.periods.saturating_sub(first.periods);
        let throttled = last.throttled_periods.saturating_sub(first.throttled_periods);
        let allowed = last.quota_us.zip(last.period_us).filter(|(_, period_us)| *period_us > 0);
        Some(QuotaShare {
            group: last.group.clone(),
            allowed_cpus: allowed.map(|(quota_us, period_us)| quota_us as f64 / period_us as f64),
            throttled_periods: if periods > 0 { throttled as f64 / periods as f64 } else { 0.0 },
            throttled_time: last.throttled_ns.saturating_sub(first.throttled_ns) as f64
                / 1e9
                / pair.seconds,
        })
    };
    pair.last.iter().filter_map(share).collect()
}

fn increase(first: &BTreeMap<String, u64>, last: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let delta = |(name, value): (&String, &u64)| {
        let before = first.get(name).copied().unwrap_or(0);
        (name.clone(), value.saturating_sub(before))
    };
    last.iter().map(delta).collect()
}

fn pressure_shares(pair: &Pair<'_, BTreeMap<String, u64>>) -> BTreeMap<String, f64> {
    let stalls = increase(pair.first, pair.last);
    stalls.into_iter().map(|(name, us)| (name, us as f64 / 1e6 / pair.seconds)).collect()
}

fn worst_files(
    readings: &[&Reading],
    pick: impl Fn(&Data) -> Option<OpenFiles>,
) -> Option<OpenFiles> {
    let fullness = |files: &OpenFiles| files.open as f64 / files.limit.max(1) as f64;
    readings
        .iter()
        .filter_map(|reading| pick(&reading.data))
        .max_by(|left, right| fullness(left).total_cmp(&fullness(right)))
}

fn queue_peak(readings: &[&Reading]) -> Option<QueuePeak> {
    let listeners = readings.iter().filter_map(|reading| match &reading.data {
        Data::Listeners(listeners) => Some(listeners),
        _ => None,
    });
    listeners
        .flatten()
        .map(|listener| QueuePeak { queued: listener.queued, backlog: listener.backlog })
        .max_by_key(|peak| (u64::from(peak.queued) << 20) / u64::from(peak.backlog.max(1)))
}

fn census(readings: &[&Reading]) -> Option<SocketCensus> {
    let sampled = readings.iter().filter_map(|reading| match &reading.data {
        Data::Connections(connections) => Some(connections),
        _ => None,
    });
    let mut seen = false;
    let mut census = SocketCensus::default();
    for Connection { server_side, receive_queue, .. } in sampled.inspect(|_| seen = true).flatten()
    {
        let unread = u64::from(*receive_queue > 0);
        if *server_side {
            census.server += 1;
            census.server_unread += unread;
        } else {
            census.client += 1;
            census.client_unread += unread;
        }
    }
    seen.then_some(census)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64, data: Data) -> Reading {
        Reading { begin_ns: seconds * SECOND, end_ns: seconds * SECOND, data }
    }

    fn cpu(user: u64, idle: u64) -> Data {
        Data::Cpus(vec![CpuTimes { cpu: 3, user, idle, ..CpuTimes::default() }])
    }

    #[test]
    fn cpu_states_become_shares_that_are_checked_against_time() {
        let readings = [at(1, cpu(100, 500)), at(2, cpu(130, 550)), at(3, cpu(160, 640))];
        let observed = Observed::of(&readings, SECOND / 100);
        let share = observed.cpus.unwrap()[0];
        assert!((share.busy() - 0.30).abs() < 1e-9, "140 of 200 ticks were idle");
        assert!((share.busy() - share.shares.user).abs() < 1e-9);
        assert!((share.accounted - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_reading_is_no_delta() {
        let observed = Observed::of(&[at(1, cpu(1, 1))], SECOND / 100);
        assert_eq!(observed, Observed::default());
    }

    #[test]
    fn threads_that_come_later_count_from_zero() {
        let thread = |tid, run_ns| ThreadTimes { tid, run_ns, ..ThreadTimes::default() };
        let readings = [
            at(1, Data::ServerThreads(vec![thread(1, 5 * SECOND)])),
            at(3, Data::ServerThreads(vec![thread(1, 6 * SECOND), thread(2, SECOND)])),
        ];
        let observed = Observed::of(&readings, 1);
        let shares: Vec<_> =
            observed.server_threads.iter().flatten().map(|thread| thread.run).collect();
        assert_eq!(shares, [0.5, 0.5]);
        assert_eq!(observed.server_cpus(), Some(1.0));
    }

    #[test]
    fn quotas_queues_and_sockets_are_summed_up() {
        let quota = |periods, throttled_periods, throttled_ns| {
            Data::ServerQuota(vec![QuotaUse {
                group: "/web".to_string(),
                quota_us: Some(25_000),
                period_us: Some(100_000),
                periods,
                throttled_periods,
                throttled_ns,
                usage_ns: None,
            }])
        };
        let socket = |server_side, receive_queue| Connection {
            server_side,
            receive_queue,
            ..Connection::default()
        };
        let readings = [
            at(1, quota(10, 5, SECOND)),
            at(2, Data::Connections(vec![socket(true, 40), socket(true, 0), socket(false, 0)])),
            at(3, quota(30, 23, 2 * SECOND)),
        ];
        let observed = Observed::of(&readings, 1);
        let share = &observed.server_quotas.unwrap()[0];
        assert_eq!((share.allowed_cpus, share.throttled_periods), (Some(0.25), 0.9));
        assert!((share.throttled_time - 0.5).abs() < 1e-9);
        let expected = SocketCensus { server: 2, server_unread: 1, client: 1, client_unread: 0 };
        assert_eq!(observed.census, Some(expected));
    }
}
