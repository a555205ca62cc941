//! What the readings of one window say: deltas and shares, without a judgement.
//!
//! What this room is for: deriving rates from counters, once, for verdicts and for pages.
//! In: raw readings and the windows of points. Out: what each host did in them.
//! Never: an opinion on a figure, IO, a clock; a zero where nothing was read.
//!
//! Cumulative counters are differenced between the first and the last reading of each source that
//! lie wholly inside the window, over the time between those two reads.

mod capacity;
mod figures;
mod inside;
mod network;
mod server;
mod timeline;
mod window;

pub use capacity::{Capacity, LimitSource, capacities};
pub use figures::{Figure, figures};
pub use network::{ConntrackUse, InterruptUse, LinkUse, QdiscUse, SoftnetUse};
pub use server::{DoingShares, DownstreamUse, SocketCensus};
pub use timeline::{Clocked, Line, Place, ThreadKey, Timeline};
pub use window::{Raw, Window};

use model::facts::Unreadable;
use model::maps::IntoMap;
use model::reading::{
    Conntrack, CpuShares, CpuTimes, Data, Disk, Interface, Interrupt, Listener, OpenFiles,
    ProbeCost, Qdisc, QuotaUse, Reading, Softnet, ThreadTimes, TuningNow, Value, Values,
};
use model::tuning::{Fate, Row};
use std::collections::{BTreeMap, BTreeSet};

type Drivers = BTreeMap<String, BTreeMap<String, u64>>;

/// Which process a figure of threads is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The generator.
    Client,
    /// The server's process tree.
    Server,
}

/// How one CPU spent the window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuShare {
    /// CPU number.
    pub cpu: u32,
    /// Shares by state.
    pub shares: CpuShares,
    /// Time accounted for over time passed; 1 when the states add up.
    pub accounted: f64,
    /// The part of it that was idle or waited for input and output.
    pub idled: f64,
}

impl CpuShare {
    /// Everything but idle.
    pub fn busy(&self) -> f64 {
        self.shares.busy()
    }
}

/// CPU states in the order they are shown. Together they are the whole time.
pub const STATES: [&str; 7] = ["usr", "sys", "softirq", "irq", "steal", "iowait", "idle"];

/// Shares of CPU time by state, percent, in the order of [`STATES`].
pub type Shares = [f64; STATES.len()];

/// Mean shares over CPUs with equal weights; none without a CPU.
pub fn mean_shares(cpus: &[CpuShare]) -> Option<Shares> {
    let mut sum = [0.0; STATES.len()];
    for CpuShare { shares: of, .. } in cpus {
        let each = [of.user, of.system, of.softirq, of.irq, of.steal, of.iowait, of.idle];
        sum.iter_mut().zip(each).for_each(|(sum, share)| *sum += 100.0 * share);
    }
    (!cpus.is_empty()).then(|| sum.map(|share| share / cpus.len() as f64))
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
    /// Time slices that it ran, per second; zero where the kernel does not count them.
    pub slices_s: f64,
}

impl ThreadShare {
    /// Share of the window in which it had work: ran or waited to run.
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

/// Changed values over the window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TuningSeen {
    /// How often they were read.
    pub reads: u32,
    /// Most places seen.
    pub places: u32,
    /// Fewest places seen.
    pub fewest: u32,
    /// Places that differed from the first read, each as it was first seen to differ, or as ceiling
    /// restored it.
    pub drifted: Vec<Row>,
}

impl TuningSeen {
    fn add(&mut self, now: TuningNow) {
        self.fewest = if self.reads == 0 { now.places } else { self.fewest.min(now.places) };
        self.places = self.places.max(now.places);
        self.reads += 1;
        for row in now.drifted {
            match self.drifted.iter_mut().find(|seen| seen.place == row.place) {
                None => self.drifted.push(row),
                // While ceiling restores it, a read finds the old value and an open journal.
                Some(seen) if row.fate == Fate::Reverted => *seen = row,
                Some(_) => {}
            }
        }
    }
}

/// Accept queues: the fullest one seen, and their mean length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueuePeak {
    /// Connections waiting.
    pub queued: u32,
    /// Length it may reach.
    pub backlog: u32,
    /// Connections waiting in all queues of the port together, mean over reads.
    pub mean_queued: f64,
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
    /// Descriptors of the generator, at worst.
    pub client_files: Option<OpenFiles>,
    /// Descriptors of the server, at worst.
    pub server_files: Option<OpenFiles>,
    /// Accept queues of the port.
    pub listeners: Option<QueuePeak>,
    /// Sampled connections.
    pub census: Option<SocketCensus>,
    /// Receive work by CPU.
    pub softnet: Option<Vec<SoftnetUse>>,
    /// Device interrupts of the host.
    pub interrupts: Option<Vec<InterruptUse>>,
    /// Lowest clock seen of each CPU, as a share of its highest, by CPU; absent where the kernel
    /// does not report it.
    pub clocks: Option<BTreeMap<u32, f64>>,
    /// Interfaces of the network namespace.
    pub links: Option<Vec<LinkUse>>,
    /// Queueing disciplines of the network namespace.
    pub qdiscs: Option<Vec<QdiscUse>>,
    /// Counters of network drivers, increase over the window, by interface.
    pub drivers: Option<Drivers>,
    /// The connection tracking table; absent where there is none.
    pub conntrack: Option<ConntrackUse>,
    /// That of the server's own network namespace, where `conntrack` is that of its host: packets
    /// pass through both.
    pub conntrack_inside: Option<ConntrackUse>,
    /// Sockets by state and memory, at most, as `/proc/net/sockstat` names them.
    pub sockets: Option<BTreeMap<String, u64>>,
    /// What the server's threads did.
    pub doing: Option<DoingShares>,
    /// CPUs' worth of time that threads of the generator used until they ended in the window.
    pub client_ended_cpus: f64,
    /// The same for threads of the server.
    pub server_ended_cpus: f64,
    /// CPUs' worth of time the server used in each interval between two reads, in order.
    pub server_cpus_series: Vec<f64>,
    /// Services the server itself called, the busiest first.
    pub downstreams: Option<Vec<DownstreamUse>>,
    /// What `ceiling tune` changed, as read in the window; absent when nothing was changed or read.
    pub tuning: Option<TuningSeen>,
    /// Share of the window in which the busiest disk was in use.
    pub disk_busy: Option<f64>,
    /// Reclaim counters, increase over the window.
    pub memory: Option<BTreeMap<String, u64>>,
    /// Figures of the server's runtime, change over the window.
    pub runtime: Option<BTreeMap<String, f64>>,
    /// The same for the server's host, when a probe there was read, or for this host as seen from
    /// the server's own network namespace. All fields about the server are then in it.
    pub far: Option<Box<Observed>>,
    /// What was read in the server's own network namespace, where that is not the probe's: nothing
    /// about the host or about processes.
    pub inside: Option<Box<Observed>>,
    /// CPUs' worth of time of the probe itself.
    pub probe_cpus: Option<f64>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// First and last of one kind of reading.
struct Ends<T> {
    first: Option<(u64, T)>,
    last: Option<(u64, T)>,
}

impl<T> Default for Ends<T> {
    fn default() -> Self {
        Self { first: None, last: None }
    }
}

impl<T> Ends<T> {
    fn add(&mut self, at_ns: u64, value: T) {
        let end = if self.first.is_none() { &mut self.first } else { &mut self.last };
        *end = Some((at_ns, value));
    }

    /// Derives something from both, when there is time between them.
    fn between<R>(&self, derive: impl FnOnce(&Pair<'_, T>) -> R) -> Option<R> {
        let ((first_ns, first), (last_ns, last)) = (self.first.as_ref()?, self.last.as_ref()?);
        let seconds = last_ns.saturating_sub(*first_ns) as f64 / 1e9;
        (seconds > 0.0).then(|| derive(&Pair { first, last, seconds }))
    }
}

/// Both ends of a window, with the seconds between them.
struct Pair<'a, T> {
    first: &'a T,
    last: &'a T,
    seconds: f64,
}

/// First and last readings of the threads of a process.
#[derive(Default)]
struct ThreadEnds {
    ends: Ends<Vec<ThreadTimes>>,
    /// The threads of the latest reading.
    known: BTreeSet<(u32, u32)>,
    /// The first reading of each thread that was found late: it is older than the window's first
    /// reading, which missed it.
    late: BTreeMap<(u32, u32), (u64, ThreadTimes)>,
}

impl ThreadEnds {
    fn add(&mut self, at_ns: u64, threads: Vec<ThreadTimes>) {
        let key = |thread: &ThreadTimes| (thread.pid, thread.tid);
        let now: BTreeSet<_> = threads.iter().map(key).collect();
        self.late.retain(|key, _| now.contains(key));
        if let Some((first_ns, first)) = &self.ends.first {
            let passed_ns = at_ns.saturating_sub(*first_ns) as f64;
            for thread in threads.iter().filter(|thread| !self.known.contains(&key(thread))) {
                let was_there = || first.iter().any(|first| key(first) == key(thread));
                if is_older(thread, passed_ns) && !was_there() {
                    self.late.insert(key(thread), (at_ns, thread.clone()));
                }
            }
        }
        self.known = now;
        self.ends.add(at_ns, threads);
    }

    /// Shares of the window's time; of a thread that was found late, of the time since then.
    fn shares(&self) -> Option<Vec<ThreadShare>> {
        let mut shares = self.ends.between(thread_shares)?;
        shares.retain(|thread| !self.late.contains_key(&(thread.pid, thread.tid)));
        let (last_ns, last) = self.ends.last.as_ref()?;
        let late = last.iter().filter_map(|last| {
            let (at_ns, first) = self.late.get(&(last.pid, last.tid))?;
            let passed_ns = last_ns.saturating_sub(*at_ns) as f64;
            (passed_ns > 0.0).then(|| thread_share(Some(first), last, passed_ns))
        });
        shares.extend(late);
        Some(shares)
    }
}

/// What is kept while readings are taken in: its size does not depend on their number.
#[derive(Default)]
struct Tracked {
    cpus: Ends<Vec<CpuTimes>>,
    client_threads: ThreadEnds,
    server_threads: ThreadEnds,
    client_quotas: Ends<Vec<QuotaUse>>,
    server_quotas: Ends<Vec<QuotaUse>>,
    probe_cost: Ends<ProbeCost>,
    client_files: Option<OpenFiles>,
    server_files: Option<OpenFiles>,
    listeners: Option<QueuePeak>,
    listener_reads: u32,
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
    doing: server::DoingSum,
    client_cpus: CpuSeries,
    server_cpus: CpuSeries,
    downstreams: server::DownstreamSum,
    disks: Ends<Vec<Disk>>,
    inside: Option<Box<Tracked>>,
    tuning: Option<TuningSeen>,
    /// Sources of named values, by name.
    values: BTreeMap<String, Ends<BTreeMap<String, Value>>>,
    unreadable: Vec<Unreadable>,
}

/// CPU time of all threads together from read to read, with that of threads that have ended.
#[derive(Default)]
struct CpuSeries {
    first_ns: u64,
    last: Option<(u64, BTreeMap<u32, RunTime>)>,
    /// What threads that ended had used since the first read, as far as a read saw it, nanoseconds.
    ended_ns: u64,
    cpus: Vec<f64>,
}

/// Time on a CPU of a thread, nanoseconds.
#[derive(Clone, Copy)]
struct RunTime {
    /// Before the first read.
    earlier_ns: u64,
    /// In all.
    run_ns: u64,
}

impl RunTime {
    fn in_window(self) -> u64 {
        self.run_ns - self.earlier_ns
    }
}

impl CpuSeries {
    fn add(&mut self, at_ns: u64, threads: &[ThreadTimes]) {
        let Some((before_ns, before)) = self.last.take() else {
            let known = |thread: &ThreadTimes| {
                (thread.tid, RunTime { earlier_ns: thread.run_ns, run_ns: thread.run_ns })
            };
            self.first_ns = at_ns;
            self.last = Some((at_ns, threads.iter().map(known).into_map()));
            return;
        };
        let since_first_ns = at_ns.saturating_sub(self.first_ns) as f64;
        let earlier_ns = |thread: &ThreadTimes, was: Option<&RunTime>| match was {
            Some(was) => was.earlier_ns,
            None if is_older(thread, since_first_ns) => thread.run_ns,
            None => 0,
        };
        let mut now = BTreeMap::new();
        let mut used_ns = 0;
        for thread in threads {
            // Less time than before is that of another thread with the same id.
            let was = before.get(&thread.tid).filter(|was| was.run_ns <= thread.run_ns);
            let time = RunTime { earlier_ns: earlier_ns(thread, was), run_ns: thread.run_ns };
            let since = time.in_window() - was.map_or(0, |was| was.in_window());
            used_ns = u64::saturating_add(used_ns, since);
            now.insert(thread.tid, time);
        }
        let has_ended = |(tid, was): &(&u32, &RunTime)| {
            now.get(tid).is_none_or(|thread: &RunTime| thread.run_ns < was.run_ns)
        };
        let ended = before.iter().filter(has_ended).map(|(_, was)| was.in_window());
        self.ended_ns = ended.fold(self.ended_ns, u64::saturating_add);
        self.cpus.push(used_ns as f64 / at_ns.saturating_sub(before_ns).max(1) as f64);
        self.last = Some((at_ns, now));
    }

    /// CPUs' worth of time that threads which have ended used between the first and the last read.
    fn ended_cpus(&self) -> f64 {
        let last_ns = self.last.as_ref().map_or(0, |(last_ns, _)| *last_ns);
        match last_ns.saturating_sub(self.first_ns) {
            0 => 0.0,
            passed_ns => self.ended_ns as f64 / passed_ns as f64,
        }
    }
}

impl Tracked {
    fn add(&mut self, reading: Reading) {
        let at_ns = reading.at_ns();
        let (begin_ns, end_ns) = (reading.begin_ns, reading.end_ns);
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
                self.listener_reads += 1;
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
                self.values.entry(source).or_default().add(at_ns, values);
            }
            Data::Inside(data) => {
                let inside = self.inside.get_or_insert_default();
                inside.add(Reading { begin_ns, end_ns, data: *data });
            }
            Data::Declared(_) => {}
        }
    }

    fn finish(self, clock_tick_ns: u64) -> Observed {
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
            pressure: values(Values::PRESSURE).and_then(|ends| ends.between(pressure_shares)),
            probe_cpus: seen.probe_cost.between(|pair| {
                pair.last.cpu_ns.saturating_sub(pair.first.cpu_ns) as f64 / 1e9 / pair.seconds
            }),
            client_files: seen.client_files,
            server_files: seen.server_files,
            listeners: seen.listeners.map(|queue| QueuePeak {
                mean_queued: queue.mean_queued / f64::from(seen.listener_reads.max(1)),
                ..queue
            }),
            census: seen.census.finish(),
            softnet: (seen.softnet).between(|pair| network::softnet(pair, &seen.softnet_processed)),
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
            runtime: values(Values::SERVER_RUNTIME).and_then(|ends| ends.between(change)),
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

    /// CPUs' worth of time the generator's threads used, with those that ended in the window.
    pub fn client_cpus(&self) -> Option<f64> {
        cpus_of(self.client_threads.as_deref()?, self.client_ended_cpus)
    }

    /// The same for the server's threads.
    pub fn server_cpus(&self) -> Option<f64> {
        cpus_of(self.server_threads.as_deref()?, self.server_ended_cpus)
    }

    /// The connection tracking tables that packets of this host pass through.
    pub fn conntracks(&self) -> impl Iterator<Item = ConntrackUse> {
        self.conntrack.into_iter().chain(self.conntrack_inside)
    }
}

fn cpu_shares(pair: &Pair<'_, Vec<CpuTimes>>, clock_tick_ns: u64) -> Vec<CpuShare> {
    let passed_ns = pair.seconds * 1e9;
    let share = |last: &CpuTimes| {
        let first = pair.first.iter().find(|first| first.cpu == last.cpu)?;
        let total_ns = last.total().saturating_sub(first.total()) as f64 * clock_tick_ns as f64;
        let idle = |cpu: &CpuTimes| cpu.idle.saturating_add(cpu.iowait);
        let idle_ns = idle(last).saturating_sub(idle(first)) as f64 * clock_tick_ns as f64;
        Some(CpuShare {
            cpu: last.cpu,
            shares: last.shares_since(first, passed_ns, clock_tick_ns)?,
            accounted: total_ns / passed_ns,
            idled: idle_ns / passed_ns,
        })
    };
    pair.last.iter().filter_map(share).collect()
}

/// A thread that was not there before started at zero inside the window. One that used more time
/// than has passed is older, and a reading missed it: when it ran is not known.
fn is_older(thread: &ThreadTimes, passed_ns: f64) -> bool {
    (thread.run_ns + thread.wait_ns) as f64 > 1.1 * passed_ns
}

/// CPUs that the threads of a process used. Not known if none of them was left at the last reading
/// and none was seen to use any: no reading may have come between its start and its end.
fn cpus_of(threads: &[ThreadShare], ended: f64) -> Option<f64> {
    let is_known = !threads.is_empty() || ended > 0.0;
    is_known.then(|| threads.iter().map(|thread| thread.run).sum::<f64>() + ended)
}

/// Shares of the threads of the last reading, except those that the first reading missed.
fn thread_shares(pair: &Pair<'_, Vec<ThreadTimes>>) -> Vec<ThreadShare> {
    let passed_ns = pair.seconds * 1e9;
    let share = |last: &ThreadTimes| {
        let first = pair.first.iter().find(|first| (first.pid, first.tid) == (last.pid, last.tid));
        let is_missed = first.is_none() && is_older(last, passed_ns);
        (!is_missed).then(|| thread_share(first, last, passed_ns))
    };
    pair.last.iter().filter_map(share).collect()
}

/// Shares of a thread between two readings; one without a first reading started after that.
fn thread_share(first: Option<&ThreadTimes>, last: &ThreadTimes, passed_ns: f64) -> ThreadShare {
    let (run_ns, wait_ns, slices) =
        first.map_or((0, 0, 0), |first| (first.run_ns, first.wait_ns, first.slices));
    ThreadShare {
        pid: last.pid,
        tid: last.tid,
        name: last.name.clone(),
        run: last.run_ns.saturating_sub(run_ns) as f64 / passed_ns,
        wait: last.wait_ns.saturating_sub(wait_ns) as f64 / passed_ns,
        slices_s: last.slices.saturating_sub(slices) as f64 / (passed_ns / 1e9),
    }
}

fn quota_shares(pair: &Pair<'_, Vec<QuotaUse>>) -> Vec<QuotaShare> {
    let share = |last: &QuotaUse| {
        let first = pair.first.iter().find(|first| first.group == last.group)?;
        // One that is made again, as when its service restarts, begins anew: its growth is unknown.
        let periods = last.periods.checked_sub(first.periods)?;
        let throttled = last.throttled_periods.checked_sub(first.throttled_periods)?;
        let throttled_ns = last.throttled_ns.checked_sub(first.throttled_ns)?;
        let allowed = last.quota_us.zip(last.period_us).filter(|(_, period_us)| *period_us > 0);
        Some(QuotaShare {
            group: last.group.clone(),
            allowed_cpus: allowed.map(|(quota_us, period_us)| quota_us as f64 / period_us as f64),
            throttled_periods: if periods > 0 { throttled as f64 / periods as f64 } else { 0.0 },
            throttled_time: throttled_ns as f64 / 1e9 / pair.seconds,
        })
    };
    pair.last.iter().filter_map(share).collect()
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

fn keep_fuller(kept: &mut Option<OpenFiles>, files: OpenFiles) {
    let fullness = |files: &OpenFiles| files.open as f64 / files.limit.max(1) as f64;
    if kept.as_ref().is_none_or(|kept| fullness(kept) <= fullness(&files)) {
        *kept = Some(files);
    }
}

/// Keeps the fullest, and in `mean_queued` the sum.
fn keep_fullest(kept: &mut Option<QueuePeak>, listeners: &[Listener]) {
    let fullness =
        |queued: u32, backlog: u32| (u64::from(queued) << 20) / u64::from(backlog.max(1));
    for listener in listeners {
        let (queued, backlog) = (listener.queued, listener.backlog);
        let peak = kept.get_or_insert(QueuePeak { queued, backlog, mean_queued: 0.0 });
        peak.mean_queued += f64::from(queued);
        if fullness(peak.queued, peak.backlog) <= fullness(queued, backlog) {
            (peak.queued, peak.backlog) = (queued, backlog);
        }
    }
}

fn keep_most(kept: &mut BTreeMap<String, u64>, sockets: &BTreeMap<String, Value>) {
    for (name, value) in sockets {
        let most = kept.entry(name.clone()).or_default();
        *most = value.count().unwrap_or(0).max(*most);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::SocketSample;

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
                let listeners = vec![listener(open, 1000), listener(1, 1000)];
                readings.push(at(seconds, Data::ClientFiles(files(open))));
                readings.push(at(seconds, Data::ServerFiles(files(open))));
                readings.push(at(seconds, Data::Listeners(listeners)));
            }
            let observed = Observed::of(readings, 1);
            assert_eq!(observed.client_files, Some(files(900)), "{order:?}");
            assert_eq!(observed.server_files, Some(files(900)), "{order:?}");
            let peak = QueuePeak { queued: 900, backlog: 1000, mean_queued: 311.0 };
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
        let expected =
            SocketCensus { server: 2, server_unread: 1, client: 1, ..SocketCensus::default() };
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
