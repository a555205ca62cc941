//! Takes in the readings of a window, and keeps what is needed to derive what they say.

use crate::cpus::{cpu_shares, quota_shares};
use crate::ends::{Ends, Pair};
use crate::lost::Losing;
use crate::observed::{Observed, QueuePeak, TuningSeen};
use crate::threads::{CpuSeries, ThreadEnds};
use crate::{network, server};
use model::facts::Unreadable;
use model::maps::IntoMap;
use model::reading::{
    Conntrack, CpuTimes, Data, Disk, Interface, Interrupt, Listener, OpenFiles, ProbeCost, Qdisc,
    QuotaUse, Reading, Softnet, Value, Values,
};
use std::collections::BTreeMap;

/// Resident memory of the server's processes, in the source of memory.
pub(crate) const SERVER_BYTES: &str = "server.resident_bytes";

/// What is kept while readings are taken in: except for series, its size does not depend on their
/// number.
#[derive(Default)]
pub(crate) struct Tracked {
    cpus: Ends<Vec<CpuTimes>>,
    client_threads: ThreadEnds,
    server_threads: ThreadEnds,
    client_quotas: Ends<Vec<QuotaUse>>,
    server_quotas: Ends<Vec<QuotaUse>>,
    probe_cost: Ends<ProbeCost>,
    client_files: Option<OpenFiles>,
    server_files: Option<OpenFiles>,
    listeners: Option<QueuePeak>,
    census: server::Census,
    softnet: Ends<Vec<Softnet>>,
    softnet_processed: network::Processed,
    interrupts: Ends<Vec<Interrupt>>,
    clocks: network::Clocks,
    links: Ends<Vec<Interface>>,
    qdiscs: Ends<Vec<Qdisc>>,
    qdiscs_waiting: network::Waiting,
    conntrack: Ends<Conntrack>,
    conntrack_most: u64,
    sockets: Option<BTreeMap<String, u64>>,
    established: Option<u64>,
    server_bytes: Option<u64>,
    doing: server::DoingSum,
    client_cpus: CpuSeries,
    server_cpus: CpuSeries,
    downstreams: server::DownstreamSum,
    disks: Ends<Vec<Disk>>,
    lost: Losing,
    inside: Option<Box<Tracked>>,
    tuning: Option<TuningSeen>,
    /// Sources of named values, by name.
    values: BTreeMap<String, Ends<BTreeMap<String, Value>>>,
    unreadable: Vec<Unreadable>,
}

impl Tracked {
    pub(crate) fn add(&mut self, reading: Reading) {
        let at_ns = reading.at_ns();
        let (begin_ns, end_ns) = (reading.begin_ns, reading.end_ns);
        self.lost.add(at_ns, &reading.data);
        match reading.data {
            Data::Cpus(cpus) => self.cpus.add(at_ns, cpus),
            Data::ClientThreads(threads) => {
                self.client_cpus.add(at_ns, &threads);
                self.client_threads.add(at_ns, threads);
            }
            Data::ServerThreads(threads) => {
                self.server_cpus.add(at_ns, &threads);
                self.doing.count(threads.len());
                self.server_threads.add(at_ns, threads);
            }
            Data::ClientQuota(quotas) => self.client_quotas.add(at_ns, quotas),
            Data::ServerQuota(quotas) => self.server_quotas.add(at_ns, quotas),
            Data::ProbeCost(cost) => self.probe_cost.add(at_ns, cost),
            Data::ClientFiles(files) => keep_fuller(&mut self.client_files, files),
            Data::ServerFiles(files) => keep_fuller(&mut self.server_files, files),
            Data::Listeners(listeners) => {
                keep_fullest(&mut self.listeners, &listeners);
            }
            Data::Connections(sockets) => self.census.add(at_ns, &sockets),
            Data::Softnet(rows) => {
                self.softnet_processed.add(&rows);
                self.softnet.add(at_ns, rows);
            }
            Data::Interrupts(rows) => self.interrupts.add(at_ns, rows),
            Data::CpuClocks(clocks) => self.clocks.add(&clocks),
            Data::Interfaces(links) => self.links.add(at_ns, links),
            Data::Qdiscs(qdiscs) => {
                self.qdiscs_waiting.add(&qdiscs);
                self.qdiscs.add(at_ns, qdiscs);
            }
            Data::Conntrack(table) => {
                self.conntrack_most = self.conntrack_most.max(table.count);
                self.conntrack.add(at_ns, table);
            }
            Data::ServerThreadsNow(threads) => self.doing.add(&threads),
            Data::Downstreams(downstreams) => self.downstreams.add(&downstreams),
            Data::Tuning(now) => self.tuning.get_or_insert_default().add(now),
            Data::Disks(disks) => self.disks.add(at_ns, disks),
            Data::Unreadable(what) => {
                if !self.unreadable.contains(&what) {
                    self.unreadable.push(what);
                }
            }
            Data::Values(Values { source, values }) => {
                if source == Values::SOCKETS {
                    keep_most(self.sockets.get_or_insert_default(), &values);
                }
                // States among counters.
                let state = |of: &str, name| {
                    values.get(name).filter(|_| source == of).and_then(Value::count)
                };
                let established = state(Values::TCP, "Tcp.CurrEstab");
                self.established = self.established.max(established);
                let server_bytes = state(Values::MEMORY, SERVER_BYTES);
                self.server_bytes = self.server_bytes.max(server_bytes);
                self.values.entry(source).or_default().add(at_ns, values);
            }
            Data::Inside(data) => {
                let inside = self.inside.get_or_insert_default();
                inside.add(Reading { begin_ns, end_ns, data: *data });
            }
            Data::Declared(_) => {}
        }
    }

    pub(crate) fn finish(self, clock_tick_ns: u64) -> Observed {
        let mut seen = self;
        let conntrack =
            seen.conntrack.between(|pair| network::conntrack(pair, seen.conntrack_most));
        if conntrack == Some(None) {
            // Without this, a table that is not known would look like one that is not there.
            let source = "/proc/net/stat/nf_conntrack".to_string();
            let why = "its counters began anew within the window".to_string();
            seen.unreadable.push(Unreadable { source, why });
        }
        let values = |source: &str| seen.values.get(source);
        Observed {
            cpus: seen.cpus.between(|pair| cpu_shares(pair, clock_tick_ns)),
            client_threads: seen.client_threads.shares(),
            server_threads: seen.server_threads.shares(),
            client_quotas: seen.client_quotas.between(quota_shares),
            server_quotas: seen.server_quotas.between(quota_shares),
            tcp: values(Values::TCP).and_then(|ends| ends.between(increase)),
            tcp_s: values(Values::TCP).and_then(|ends| ends.between(|pair| pair.seconds)),
            established: seen.established,
            pressure: values(Values::PRESSURE).and_then(|ends| ends.between(pressure_shares)),
            probe_cpus: seen.probe_cost.between(|pair| {
                pair.last.cpu_ns.saturating_sub(pair.first.cpu_ns) as f64 / 1e9 / pair.seconds
            }),
            client_files: seen.client_files,
            server_files: seen.server_files,
            listeners: seen.listeners.map(|queue| QueuePeak {
                mean_queued: queue.mean_queued / f64::from(queue.reads.max(1)),
                ..queue
            }),
            census: seen.census.finish(),
            server_sockets: values(Values::SERVER_SOCKETS)
                .and_then(|ends| ends.between(server::sockets_of)),
            softnet: (seen.softnet).between(|pair| network::softnet(pair, &seen.softnet_processed)),
            softnet_s: seen.softnet.between(|pair| pair.seconds),
            interrupts: seen.interrupts.between(network::interrupts),
            clocks: seen.clocks.finish(),
            links: seen.links.between(network::links),
            qdiscs: seen.qdiscs.between(|pair| network::qdiscs(pair, &seen.qdiscs_waiting)),
            drivers: values(Values::DRIVERS).and_then(|ends| ends.between(network::drivers)),
            conntrack: conntrack.flatten(),
            conntrack_inside: None,
            sockets: seen.sockets,
            doing: seen.doing.finish(),
            client_ended_cpus: seen.client_cpus.ended_cpus(),
            server_ended_cpus: seen.server_cpus.ended_cpus(),
            server_cpus_series: seen.server_cpus.cpus,
            downstreams: seen.downstreams.finish(),
            tuning: seen.tuning,
            disk_busy: seen.disks.between(server::disk_busy).flatten(),
            memory: values(Values::MEMORY).and_then(|ends| ends.between(increase)).map(
                |mut counters| {
                    // Bytes in use are not a counter.
                    counters.retain(|name, _| !name.ends_with("_bytes"));
                    counters
                },
            ),
            server_bytes: seen.server_bytes,
            runtime: values(Values::SERVER_RUNTIME).and_then(|ends| ends.between(change)),
            lost: seen.lost.finish(clock_tick_ns),
            far: None,
            inside: seen.inside.map(|inside| Box::new(inside.finish(clock_tick_ns))),
            unreadable: seen.unreadable,
        }
    }
}

impl Observed {
    /// Takes in a window's readings, in time order. `clock_tick_ns` is the unit of `/proc/stat`.
    pub fn of(readings: impl IntoIterator<Item = Reading>, clock_tick_ns: u64) -> Self {
        let mut seen = Tracked::default();
        readings.into_iter().for_each(|reading| seen.add(reading));
        seen.finish(clock_tick_ns)
    }
}

fn keep_fuller(kept: &mut Option<OpenFiles>, files: OpenFiles) {
    let fullness = |files: &OpenFiles| files.open as f64 / files.limit.max(1) as f64;
    if kept.as_ref().is_none_or(|kept| fullness(kept) <= fullness(&files)) {
        *kept = Some(files);
    }
}

fn keep_most(kept: &mut BTreeMap<String, u64>, sockets: &BTreeMap<String, Value>) {
    for (name, value) in sockets {
        let most = kept.entry(name.clone()).or_default();
        *most = value.count().unwrap_or(0).max(*most);
    }
}

fn increase(pair: &Pair<'_, BTreeMap<String, Value>>) -> BTreeMap<String, u64> {
    // A counter that was not there before is left out: it may count since the host started. So is
    // one that stepped back: it began anew, as with its control group, or it is a state.
    let delta = |(name, value): (&String, &Value)| {
        let first = pair.first.get(name)?.count()?;
        Some((name.clone(), value.count()?.checked_sub(first)?))
    };
    pair.last.iter().filter_map(delta).into_map()
}

fn pressure_shares(pair: &Pair<'_, BTreeMap<String, Value>>) -> BTreeMap<String, f64> {
    let stalls = increase(pair);
    stalls.into_iter().map(|(name, us)| (name, us as f64 / 1e6 / pair.seconds)).into_map()
}

/// Change of every figure of a runtime. Seconds and cycles only grow: where they stepped back the
/// runtime was started again, and their growth is unknown.
fn change(pair: &Pair<'_, BTreeMap<String, Value>>) -> BTreeMap<String, f64> {
    let of_figure = |(name, last): (&String, &Value)| {
        let change = last.real()? - pair.first.get(name)?.real()?;
        let only_grows = name.ends_with("_seconds") || name.ends_with("_cycles");
        (change >= 0.0 || !only_grows).then(|| (name.clone(), change))
    };
    pair.last.iter().filter_map(of_figure).into_map()
}

/// Keeps the fullest, in `mean_queued` the sum, and counts one more read.
fn keep_fullest(kept: &mut Option<QueuePeak>, listeners: &[Listener]) {
    let fullness =
        |queued: u32, backlog: u32| (u64::from(queued) << 20) / u64::from(backlog.max(1));
    for listener in listeners {
        let (queued, backlog) = (listener.queued, listener.backlog);
        let peak =
            kept.get_or_insert_with(|| QueuePeak { queued, backlog, ..QueuePeak::default() });
        peak.mean_queued += f64::from(queued);
        if fullness(peak.queued, peak.backlog) <= fullness(queued, backlog) {
            (peak.queued, peak.backlog) = (queued, backlog);
        }
    }
    if let Some(peak) = kept {
        peak.reads += 1;
        peak.empty_reads += u32::from(listeners.iter().all(|one| one.queued == 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::SocketCensus;
    use model::reading::{SocketSample, ThreadTimes};

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
        let observed = Observed::of(readings, SECOND / 100);
        let share = observed.cpus.unwrap()[0];
        assert!((share.busy() - 0.30).abs() < 1e-9, "140 of 200 ticks were idle");
        assert!((share.busy() - share.shares.user).abs() < 1e-9);
        assert!((share.accounted - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_reading_is_no_delta() {
        let observed = Observed::of([at(1, cpu(1, 1))], SECOND / 100);
        assert_eq!(observed, Observed::default());
    }

    #[test]
    fn threads_that_come_later_count_from_zero() {
        let thread = |tid, run_ns| ThreadTimes { tid, run_ns, ..ThreadTimes::default() };
        let readings = [
            at(1, Data::ServerThreads(vec![thread(1, 5 * SECOND)])),
            at(
                3,
                Data::ServerThreads(vec![
                    thread(1, 6 * SECOND),
                    thread(2, SECOND),
                    thread(3, 5 * SECOND),
                ]),
            ),
        ];
        let observed = Observed::of(readings, 1);
        let shares: Vec<_> =
            observed.server_threads.iter().flatten().map(|thread| thread.run).collect();
        assert_eq!(shares, [0.5, 0.5], "the third cannot have run 5 s in 2 s");
        assert_eq!(observed.server_cpus(), Some(1.0));
    }

    #[test]
    fn a_thread_that_was_found_late_has_the_share_of_the_time_since_then() {
        let thread = |tid, run_ns| ThreadTimes { tid, run_ns, ..ThreadTimes::default() };
        let read = |second, busy_ns: &[u64]| {
            let busy = busy_ns.iter().map(|run_ns| thread(2, *run_ns));
            let threads = [thread(1, 0)].into_iter().chain(busy).collect();
            at(second, Data::ClientThreads(threads))
        };
        // Found 1 s after the window's first reading, with more time than could pass since then.
        let share = |last_s: u64| {
            let last_ns = (3 + last_s) * SECOND;
            let readings = [read(10, &[]), read(11, &[3 * SECOND]), read(11 + last_s, &[last_ns])];
            let observed = Observed::of(readings, 1);
            observed.client_threads.unwrap().iter().map(|thread| thread.run).collect::<Vec<_>>()
        };
        assert_eq!(share(1), [0.0, 1.0]);
        assert_eq!(share(99), [0.0, 1.0], "less than the whole time, all the same");
    }

    #[test]
    fn what_a_process_used_that_is_gone_at_the_second_reading_is_not_known() {
        let thread = |run_ns| ThreadTimes { tid: 1, run_ns, ..ThreadTimes::default() };
        let observed = |reads: &[Vec<ThreadTimes>]| {
            let readings = reads.iter().enumerate().flat_map(|(second, threads)| {
                let both = [Data::ClientThreads, Data::ServerThreads];
                both.map(|which| at(second as u64, which(threads.clone())))
            });
            let observed = Observed::of(readings.collect::<Vec<_>>(), 1);
            (observed.client_cpus(), observed.server_cpus())
        };
        assert_eq!(observed(&[vec![thread(0)], vec![]]), (None, None));
        assert_eq!(observed(&[vec![thread(0)], vec![thread(0)]]), (Some(0.0), Some(0.0)));
        let seen = observed(&[vec![thread(0)], vec![thread(SECOND)], vec![]]);
        assert_eq!(seen, (Some(0.5), Some(0.5)), "until it ended");
    }

    /// A server with a thread for each connection, or with workers that are replaced.
    #[test]
    fn what_threads_used_until_they_ended_counts() {
        let thread = |tid, run_ns| ThreadTimes { tid, run_ns, ..ThreadTimes::default() };
        let reads = [
            vec![thread(1, 5 * SECOND), thread(2, 9 * SECOND)],
            vec![thread(1, 6 * SECOND), thread(2, 10 * SECOND), thread(3, SECOND / 2)],
            // The second has ended; another thread has the id of the third.
            vec![thread(1, 7 * SECOND), thread(3, SECOND / 4)],
        ];
        for which in [Data::ServerThreads, Data::ClientThreads] {
            let reads = reads.clone().into_iter();
            let observed = Observed::of((1..).zip(reads).map(|(s, read)| at(s, which(read))), 1);
            let cpus = observed.server_cpus().or(observed.client_cpus());
            let ended = (1.0 + 0.5) / 2.0;
            assert_eq!(cpus, Some(2.0 / 2.0 + 0.25 / 2.0 + ended));
        }
        let observed =
            Observed::of((1..).zip(reads).map(|(s, read)| at(s, Data::ServerThreads(read))), 1);
        assert_eq!(observed.server_cpus_series, [2.5, 1.25]);
    }

    #[test]
    fn times_of_threads_in_a_hostile_record_add_up_to_the_end_of_their_range() {
        let thread = |tid, run_ns| ThreadTimes { tid, run_ns, ..ThreadTimes::default() };
        let reads = [
            vec![thread(1, 0), thread(2, 0)],
            vec![thread(1, u64::MAX), thread(2, 9 * SECOND)],
            vec![],
        ];
        let readings = (1..).zip(reads).map(|(s, read)| at(s, Data::ServerThreads(read)));
        let observed = Observed::of(readings, 1);
        assert_eq!(observed.server_cpus_series[0], u64::MAX as f64 / SECOND as f64);
        assert_eq!(observed.server_cpus(), Some(u64::MAX as f64 / (2 * SECOND) as f64));
    }

    #[test]
    fn the_fullest_reading_is_kept_wherever_it_stands() {
        let files = |open: u32| OpenFiles { pid: 1, open: u64::from(open), limit: 1024 };
        let listener = |queued, backlog| Listener { queued, backlog, ..Listener::default() };
        for order in [[900, 10, 20], [10, 20, 900]] {
            let mut readings = Vec::new();
            for (seconds, open) in (1..).zip(order) {
                let other = u32::from(seconds == 1);
                let listeners = vec![listener(open, 1000), listener(other, 1000)];
                readings.push(at(seconds, Data::ClientFiles(files(open))));
                readings.push(at(seconds, Data::ServerFiles(files(open))));
                readings.push(at(seconds, Data::Listeners(listeners)));
            }
            let empty = vec![listener(0, 1000), listener(0, 1000)];
            readings.push(at(4, Data::Listeners(empty)));
            let observed = Observed::of(readings, 1);
            assert_eq!(observed.client_files, Some(files(900)), "{order:?}");
            assert_eq!(observed.server_files, Some(files(900)), "{order:?}");
            let (queued, backlog) = (900, 1000);
            let (reads, empty_reads, mean_queued) = (4, 1, 931.0 / 4.0);
            let peak = QueuePeak { queued, backlog, mean_queued, reads, empty_reads };
            assert_eq!(observed.listeners, Some(peak), "{order:?}");
        }
    }

    #[test]
    fn counters_that_began_anew_are_unknown_and_not_zero() {
        let quota = |periods, throttled_ns| {
            let group = "/system.slice/web.service".to_string();
            let row = QuotaUse { group, periods, throttled_ns, ..QuotaUse::default() };
            Data::ServerQuota(vec![row])
        };
        let memory = |hits: u64, faults: u64| {
            let counts = [("server.events_max", hits), ("pgmajfault", faults)];
            Data::values(Values::MEMORY, counts.map(|(name, count)| (name.to_string(), count)))
        };
        let table = |dropped| Data::Conntrack(Conntrack { dropped, ..Conntrack::default() });
        let seen = |first: [Data; 3], last: [Data; 3]| {
            let first = first.map(|data| at(1, data));
            Observed::of(first.into_iter().chain(last.map(|data| at(2, data))), 1)
        };
        let first = || [quota(50, 5 * SECOND), memory(40, 7), table(9_000)];
        let known = seen(first(), [quota(60, 5 * SECOND), memory(41, 8), table(9_000)]);
        assert_eq!(known.server_quotas.as_ref().map(Vec::len), Some(1));
        assert_eq!(known.memory.as_ref().unwrap()["server.events_max"], 1);
        assert_eq!(known.conntracks().map(|table| table.dropped).collect::<Vec<_>>(), [0]);
        let anew = seen(first(), [quota(60, SECOND), memory(2, 8), table(3)]);
        assert_eq!(anew.server_quotas, Some(Vec::new()));
        assert_eq!(anew.memory, Some(BTreeMap::from([("pgmajfault".to_string(), 1)])));
        assert_eq!((anew.conntrack, anew.unreadable.len()), (None, 1), "there is a table");
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
        let socket = |server_side, receive_queue| SocketSample {
            server_side,
            receive_queue,
            ..SocketSample::default()
        };
        let readings = [
            at(1, quota(10, 5, SECOND)),
            at(2, Data::Connections(vec![socket(true, 40), socket(true, 0), socket(false, 0)])),
            at(3, quota(30, 23, 2 * SECOND)),
        ];
        let observed = Observed::of(readings, 1);
        let share = &observed.server_quotas.unwrap()[0];
        assert_eq!((share.allowed_cpus, share.throttled_periods), (Some(0.25), 0.9));
        assert!((share.throttled_time - 0.5).abs() < 1e-9);
        let expected = SocketCensus {
            reads: 1,
            server: 2,
            server_unread: 1,
            client: 1,
            ..SocketCensus::default()
        };
        assert_eq!(observed.census, Some(expected));
    }

    #[test]
    fn a_runtime_that_was_started_again_has_an_unknown_growth() {
        let runtime = |seconds, paused_s: f64, goroutines: f64| {
            let figures = [("gc_pause_seconds", paused_s), ("goroutines", goroutines)];
            let figures = figures.map(|(name, value)| (name.to_string(), value));
            at(seconds, Data::values(Values::SERVER_RUNTIME, figures))
        };
        let of = |readings| Observed::of(readings, 1).runtime.unwrap();
        let again = of([runtime(1, 40.0, 9.0), runtime(2, 0.5, 7.0)]);
        assert_eq!(again, [("goroutines".to_string(), -2.0)].into());
        assert_eq!(of([runtime(1, 40.0, 9.0), runtime(2, 40.5, 9.0)])["gc_pause_seconds"], 0.5);
    }
}
