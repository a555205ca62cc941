//! Raw counters as read from a host, with the time window of the read.
//!
//! Readings are observations: cumulative counters and states, never rates. Rates are derived from
//! two readings, and a later version can derive them again.

use crate::facts::Unreadable;
use crate::maps::IntoMap;
use crate::metric::Declaration;
use crate::tuning::Row;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One read of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Monotonic time before the read, nanoseconds.
    pub begin_ns: u64,
    /// Monotonic time after the read, nanoseconds.
    pub end_ns: u64,
    /// What was read.
    pub data: Data,
}

impl Reading {
    /// The instant that the counters are taken to describe.
    pub fn at_ns(&self) -> u64 {
        // Those of another host may end before they begin.
        self.begin_ns.midpoint(self.end_ns)
    }
}

/// Counters of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "source", content = "values", rename_all = "snake_case")]
pub enum Data {
    /// `/proc/stat`: one entry per online CPU. Host-wide, also inside a network namespace.
    Cpus(Vec<CpuTimes>),
    /// `/proc/net/softnet_stat`: one entry per online CPU. Host-wide.
    Softnet(Vec<Softnet>),
    /// `/proc/interrupts`, device interrupts only. Host-wide.
    Interrupts(Vec<Interrupt>),
    /// `/proc/net/dev` of our network namespace.
    Interfaces(Vec<Interface>),
    /// Threads of the generator.
    ClientThreads(Vec<ThreadTimes>),
    /// Threads of the server's process tree.
    ServerThreads(Vec<ThreadTimes>),
    /// CPU bandwidth of the generator's control groups, innermost first.
    ClientQuota(Vec<QuotaUse>),
    /// CPU bandwidth of the server's control groups, innermost first.
    ServerQuota(Vec<QuotaUse>),
    /// Open descriptors of the generator.
    ClientFiles(OpenFiles),
    /// Open descriptors of the server process closest to its limit.
    ServerFiles(OpenFiles),
    /// Listening sockets on the port under test, by sock_diag.
    Listeners(Vec<Listener>),
    /// A bounded sample of established connections to the port under test, by sock_diag.
    Connections(Vec<SocketSample>),
    /// Queueing disciplines of our network namespace, by rtnetlink.
    Qdiscs(Vec<Qdisc>),
    /// `/proc/sys/net/netfilter/nf_conntrack_*` and `/proc/net/stat/nf_conntrack`.
    Conntrack(Conntrack),
    /// What threads of the server did at this instant; a bounded sample of them.
    ServerThreadsNow(Vec<ThreadNow>),
    /// Connections that the server itself opened to other services, by destination.
    Downstreams(Vec<Downstream>),
    /// `/proc/diskstats`, whole disks.
    Disks(Vec<Disk>),
    /// Clock and thermal state of CPUs, where the kernel reports them.
    CpuClocks(Vec<CpuClock>),
    /// The source exists and could not be read.
    Unreadable(Unreadable),
    /// What `ceiling tune` changed on this host, read again.
    Tuning(TuningNow),
    /// Cost of the readings since the run began.
    ProbeCost(ProbeCost),
    /// What the sources of this host read, and what their figures are.
    Declared(Vec<Declaration>),
    /// A source above, read in the network namespace of the server, where that is not the probe's
    /// own.
    Inside(Box<Data>),
    /// Named values of any other source, written like the variants above: a source that is only
    /// names and values needs no variant of its own.
    #[serde(untagged)]
    Values(Values),
}

impl Data {
    /// Named values of a source.
    pub fn values<V: Into<Value>>(
        source: &str,
        values: impl IntoIterator<Item = (String, V)>,
    ) -> Self {
        Self::Values(Values::new(source, values))
    }

    /// What was read, and whether it was in the server's own network namespace.
    pub fn opened(&self) -> (&Self, bool) {
        match self {
            Self::Inside(data) => (data.opened().0, true),
            data => (data, false),
        }
    }

    /// Name of the source, as it is written.
    pub fn source(&self) -> &str {
        match self {
            Self::Cpus(_) => "cpus",
            Self::Softnet(_) => "softnet",
            Self::Interrupts(_) => "interrupts",
            Self::Interfaces(_) => "interfaces",
            Self::ClientThreads(_) => "client_threads",
            Self::ServerThreads(_) => "server_threads",
            Self::ClientQuota(_) => "client_quota",
            Self::ServerQuota(_) => "server_quota",
            Self::ClientFiles(_) => "client_files",
            Self::ServerFiles(_) => "server_files",
            Self::Listeners(_) => "listeners",
            Self::Connections(_) => "connections",
            Self::Qdiscs(_) => "qdiscs",
            Self::Conntrack(_) => "conntrack",
            Self::ServerThreadsNow(_) => "server_threads_now",
            Self::Downstreams(_) => "downstreams",
            Self::Disks(_) => "disks",
            Self::CpuClocks(_) => "cpu_clocks",
            Self::Unreadable(_) => "unreadable",
            Self::Tuning(_) => "tuning",
            Self::ProbeCost(_) => "probe_cost",
            Self::Declared(_) => "declared",
            Self::Inside(_) => "inside",
            Self::Values(values) => &values.source,
        }
    }

    /// Rows and named values in it: what its size depends on.
    pub fn entries(&self) -> usize {
        match self {
            Self::Cpus(rows) => rows.len(),
            Self::Softnet(rows) => rows.len(),
            Self::Interrupts(rows) => rows.iter().map(|row| 1 + row.per_cpu.len() / 8).sum(),
            Self::Interfaces(rows) => rows.len(),
            Self::ClientThreads(rows) | Self::ServerThreads(rows) => rows.len(),
            Self::ClientQuota(rows) | Self::ServerQuota(rows) => rows.len(),
            Self::Listeners(rows) => rows.len(),
            Self::Connections(rows) => rows.len(),
            Self::Qdiscs(rows) => rows.len(),
            Self::ServerThreadsNow(rows) => rows.len(),
            Self::Downstreams(rows) => rows.len(),
            Self::Disks(rows) => rows.len(),
            Self::CpuClocks(rows) => rows.len(),
            Self::Tuning(now) => now.drifted.len(),
            Self::Declared(all) => all.iter().map(|one| 1 + one.metrics.len()).sum(),
            Self::Inside(data) => data.entries(),
            Self::Values(values) => values.values.values().map(Value::entries).sum(),
            Self::Unreadable(_) | Self::ProbeCost(_) | Self::Conntrack(_) => 1,
            Self::ClientFiles(_) | Self::ServerFiles(_) => 1,
        }
    }
}

/// Named values of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// Which source.
    pub source: String,
    /// Its values by name.
    pub values: BTreeMap<String, Value>,
}

impl Values {
    /// `/proc/net/snmp` and `/proc/net/netstat` of our network namespace, `Group.Name`.
    pub const TCP: &str = "tcp";
    /// `/proc/net/sockstat`, `PROTOCOL.field`. Memory is in pages.
    pub const SOCKETS: &str = "sockets";
    /// `/proc/pressure/*`: `cpu.some` and so on, total stall time, microseconds.
    pub const PRESSURE: &str = "pressure";
    /// Statistics of network drivers (`ethtool -S`): by interface, by the driver's own name for the
    /// counter, with `N` for the number of a queue, over which they are summed. Drivers without any
    /// are left out.
    pub const DRIVERS: &str = "drivers";
    /// `/proc/vmstat`, the part about reclaim, and `server.*`: memory of the server's innermost
    /// control group (`server.usage_bytes`, `server.limit_bytes`, `server.failcnt` and so on).
    pub const MEMORY: &str = "memory";
    /// What the server's language runtime reports about itself (Go: runtime/metrics), by name.
    pub const SERVER_RUNTIME: &str = "server_runtime";
    /// What each process of the server has of the connections to the port under test, by its id;
    /// nothing where there is one process.
    pub const SERVER_SOCKETS: &str = "server_sockets";
    /// In the above: those that it holds.
    pub const CONNECTIONS: &str = "connections";
    /// In the above: what came in on them, as far as reads saw it.
    pub const RECEIVED_BYTES: &str = "received_bytes";

    /// Values of a source.
    pub fn new<V: Into<Value>>(
        source: &str,
        values: impl IntoIterator<Item = (String, V)>,
    ) -> Self {
        let values = values.into_iter().map(|(name, value)| (name, value.into())).into_map();
        Self { source: source.to_string(), values }
    }
}

/// A named value of a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A count.
    Count(u64),
    /// Any other number.
    Real(f64),
    /// One for each CPU, indexed by CPU number.
    PerCpu(Vec<u64>),
    /// Counts of one thing, by name.
    Named(BTreeMap<String, u64>),
}

impl Value {
    /// The count, when it is one.
    pub fn count(&self) -> Option<u64> {
        if let Self::Count(count) = self { Some(*count) } else { None }
    }

    /// The number, when it is one.
    pub fn real(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Real(real) => Some(*real),
            Self::PerCpu(_) | Self::Named(_) => None,
        }
    }

    fn entries(&self) -> usize {
        match self {
            Self::Count(_) | Self::Real(_) => 1,
            Self::PerCpu(counts) => 1 + counts.len() / 8,
            Self::Named(counts) => counts.len(),
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

impl From<Vec<u64>> for Value {
    fn from(counts: Vec<u64>) -> Self {
        Self::PerCpu(counts)
    }
}

impl From<BTreeMap<String, u64>> for Value {
    fn from(counts: BTreeMap<String, u64>) -> Self {
        Self::Named(counts)
    }
}

/// Values that were changed, and those that are no longer as they were written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TuningNow {
    /// Places that were read.
    pub places: u32,
    /// Those that differ from the first look: changed by another program, no longer readable,
    /// restored, or changed for the first time since.
    pub drifted: Vec<Row>,
}

impl TuningNow {
    /// Source of the [`Unreadable`] reading when it is not known whether anything is changed.
    pub const SOURCE: &str = "tuning";
}

/// CPU time by state since boot, in units of `HostFacts::clock_tick_ns`.
/// Guest time is already inside user and nice (proc_stat(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// CPU number.
    pub cpu: u32,
    /// User mode.
    pub user: u64,
    /// User mode at low priority.
    pub nice: u64,
    /// Kernel mode.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while a disk request was outstanding.
    pub iowait: u64,
    /// Hardware interrupts.
    pub irq: u64,
    /// Soft interrupts, where network receive runs.
    pub softirq: u64,
    /// Taken by the hypervisor for others.
    pub steal: u64,
}

impl CpuTimes {
    /// Sum of all states.
    pub fn total(&self) -> u64 {
        [self.idle, self.iowait].into_iter().fold(self.busy(), u64::saturating_add)
    }

    /// Sum of all states except idle and iowait.
    pub fn busy(&self) -> u64 {
        let Self { user, nice, system, irq, softirq, steal, .. } = *self;
        [user, nice, system, irq, softirq, steal].into_iter().fold(0, u64::saturating_add)
    }
}

/// Shares of a CPU's time by state between two reads; they add up to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShares {
    /// User mode, low priority included.
    pub user: f64,
    /// Kernel mode.
    pub system: f64,
    /// Soft interrupts.
    pub softirq: f64,
    /// Hardware interrupts.
    pub irq: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Idle while a disk request, or an io_uring wait, was outstanding.
    pub iowait: f64,
    /// Idle.
    pub idle: f64,
}

impl CpuShares {
    /// CPU states in the order they are shown. Together they are the whole time.
    pub const STATES: [&'static str; 7] =
        ["usr", "sys", "softirq", "irq", "steal", "iowait", "idle"];

    /// The shares in the order of [`Self::STATES`].
    pub fn by_state(&self) -> [f64; Self::STATES.len()] {
        let Self { user, system, softirq, irq, steal, iowait, idle } = *self;
        [user, system, softirq, irq, steal, iowait, idle]
    }

    /// Everything except idle and iowait.
    pub fn busy(&self) -> f64 {
        1.0 - self.idle - self.iowait
    }
}

impl CpuTimes {
    /// Shares by state since an earlier read of the same CPU, `passed_ns` before. `tick_ns` is the
    /// unit of the counters. Nothing when no time was accounted.
    ///
    /// With tick accounting the kernel measures idle time and samples the busy states, so that a
    /// CPU which is busy in short bursts accounts for less time than has passed. Idle is therefore
    /// taken as a share of the time passed, and the busy states divide the rest in their sampled
    /// proportion.
    pub fn shares_since(&self, earlier: &Self, passed_ns: f64, tick_ns: u64) -> Option<CpuShares> {
        let ticks = |field: fn(&Self) -> u64| field(self).saturating_sub(field(earlier)) as f64;
        let (idle, iowait) = (ticks(|cpu| cpu.idle), ticks(|cpu| cpu.iowait));
        let busy = ticks(|cpu| cpu.user)
            + ticks(|cpu| cpu.nice)
            + ticks(|cpu| cpu.system)
            + ticks(|cpu| cpu.irq)
            + ticks(|cpu| cpu.softirq)
            + ticks(|cpu| cpu.steal);
        let accounted = idle + iowait + busy;
        let passed = passed_ns / tick_ns.max(1) as f64;
        if accounted <= 0.0 || passed <= 0.0 {
            return None;
        }
        // Busy ticks that were sampled can also exceed what idle leaves.
        let whole = if busy > 0.0 && idle + iowait < passed { passed } else { accounted };
        let quiet = (idle + iowait) / whole;
        let each = if busy > 0.0 { (1.0 - quiet) / busy } else { 0.0 };
        Some(CpuShares {
            user: (ticks(|cpu| cpu.user) + ticks(|cpu| cpu.nice)) * each,
            system: ticks(|cpu| cpu.system) * each,
            softirq: ticks(|cpu| cpu.softirq) * each,
            irq: ticks(|cpu| cpu.irq) * each,
            steal: ticks(|cpu| cpu.steal) * each,
            iowait: iowait / whole,
            idle: idle / whole,
        })
    }
}

/// Receive path of one CPU. All counters are 32 bits wide in the kernel and wrap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Softnet {
    /// CPU number.
    pub cpu: u32,
    /// Packets processed.
    pub processed: u32,
    /// Packets dropped because the per-CPU backlog was full.
    pub dropped: u32,
    /// Times a poll ended with work left.
    pub time_squeeze: u32,
    /// Wake-ups sent by receive packet steering; not packets.
    pub received_rps: u32,
    /// Packets dropped by the flow limit.
    pub flow_limit: u32,
}

/// One device interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Interrupt number or name.
    pub irq: String,
    /// Device and queue as the driver named it.
    pub device: String,
    /// Events per CPU, indexed by CPU number.
    pub per_cpu: Vec<u64>,
    /// CPUs that may serve it, as the kernel lists them: `0-3,8`. Absent when it was not
    /// readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
}

/// Counters of one interface, in the driver's units (super-packets on some).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Interface name.
    pub name: String,
    /// Bytes received, Ethernet header included.
    pub rx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Received packets dropped.
    pub rx_dropped: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped on the way out.
    pub tx_dropped: u64,
}

/// One thread, from its `schedstat` and `stat`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTimes {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Thread name.
    pub name: String,
    /// Time on a CPU, nanoseconds.
    pub run_ns: u64,
    /// Time runnable and waiting for a CPU, nanoseconds.
    pub wait_ns: u64,
    /// Time slices run.
    pub slices: u64,
    /// User-mode time in clock ticks; sampled.
    pub user_ticks: u64,
    /// Kernel-mode time in clock ticks; sampled.
    pub system_ticks: u64,
}

/// CPU bandwidth counters of one control group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUse {
    /// Path of the group.
    pub group: String,
    /// Allowed per period, microseconds; absent when unlimited.
    pub quota_us: Option<u64>,
    /// Period, microseconds.
    pub period_us: Option<u64>,
    /// Periods that have elapsed with runnable tasks.
    pub periods: u64,
    /// Periods in which the group was throttled.
    pub throttled_periods: u64,
    /// Sum of the time tasks were throttled, nanoseconds.
    pub throttled_ns: u64,
    /// CPU time used, nanoseconds, when the group reports it.
    pub usage_ns: Option<u64>,
}

/// Open descriptors against the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFiles {
    /// Process.
    pub pid: u32,
    /// Open now.
    pub open: u64,
    /// Soft limit.
    pub limit: u64,
}

/// Accept queue of one listening socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// Kernel cookie of the socket: identifies the queue over several readings.
    pub cookie: u64,
    /// Connections waiting to be accepted.
    pub queued: u32,
    /// Length the queue may reach: the smaller of backlog and somaxconn. Without sock_diag it is
    /// somaxconn, which the queue never exceeds.
    pub backlog: u32,
}

/// One established connection seen from the side named by the local port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketSample {
    /// Kernel cookie of the socket; the cumulative fields below can be compared between two
    /// readings only for the same cookie. Zero without sock_diag: then only the two queues are
    /// known, and the other fields are zero.
    pub cookie: u64,
    /// Whether this end is the server's (local port is the port under test).
    pub server_side: bool,
    /// Bytes received and not read by the application.
    pub receive_queue: u32,
    /// Bytes written and not acknowledged.
    pub send_queue: u32,
    /// Part of them that was not sent yet, bytes.
    pub unsent: u32,
    /// Smoothed round trip, microseconds. An end that acknowledges with its response makes it as
    /// long as the response takes.
    pub rtt_us: u32,
    /// Shortest round trip of the last minutes, microseconds: the path alone.
    pub min_rtt_us: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Segments retransmitted since the connection opened.
    pub retransmits: u32,
    /// Time with data outstanding, microseconds.
    pub busy_us: u64,
    /// Part of it limited by the receiver's window, microseconds.
    pub rwnd_limited_us: u64,
    /// Part of it limited by the send buffer, microseconds.
    pub sndbuf_limited_us: u64,
}

/// One queueing discipline of an interface. The first three counters are 32 bits wide in the
/// kernel and wrap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qdisc {
    /// Interface name.
    pub interface: String,
    /// Kind, for example `tbf`.
    pub kind: String,
    /// Handle, major number above 16 bits; with the interface it identifies the discipline.
    pub handle: u32,
    /// Packets dropped.
    pub drops: u32,
    /// Times it had to hold packets back.
    pub overlimits: u32,
    /// Packets that the driver returned.
    pub requeues: u32,
    /// Bytes let through.
    pub bytes: u64,
    /// Packets let through.
    pub packets: u64,
    /// Bytes waiting now.
    pub backlog_bytes: u32,
    /// Packets waiting now.
    pub backlog_packets: u32,
}

/// The connection tracking table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conntrack {
    /// Entries now.
    pub count: u64,
    /// Largest number of entries.
    pub max: u64,
    /// Packets dropped, over all CPUs: for want of an entry, in a lost race for one, or by the
    /// tracker of a protocol.
    pub dropped: u64,
    /// Entries removed early to make room.
    pub early_dropped: u64,
    /// Entries that could not be inserted; can also be a harmless race.
    pub insert_failed: u64,
}

crate::named! {
    /// What a thread is doing, from its system call and wait channel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Doing {
        /// On a CPU or waiting for one.
        Running = "runs",
        /// Asleep in futex: a lock, a condition variable, an idle runtime thread.
        Futex = "futex",
        /// Asleep for a time (nanosleep).
        Timer = "sleeps",
        /// Waits for events (epoll, poll, select, io_uring).
        Events = "waits for events",
        /// Waits to receive from one socket.
        Receive = "receives",
        /// Waits to send to one socket.
        Send = "sends",
        /// Waits to accept.
        Accept = "accepts",
        /// Waits to write to a pipe, for example a log.
        PipeWrite = "writes to a pipe",
        /// Waits for storage (state D, or fsync and the like).
        Storage = "waits for storage",
        /// Stopped by a signal, a debugger or the freezer.
        Stopped = "stopped",
        /// Asleep in anything else.
        Other = "other",
    }
    /// In a word or two.
    fn word;
}

/// One thread at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadNow {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// What it does.
    pub doing: Doing,
    /// Address of the futex it sleeps on, if it does and if it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex: Option<u64>,
    /// The time-out of that sleep, if it has one and if it could be read, nanoseconds: what is left
    /// of it, or all of it when it was given as a duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
}

impl ThreadNow {
    /// Most threads that are looked at in one round. Of more, each round looks at the next ones.
    pub const ROUND_MAX: usize = 256;
}

/// Connections of the server to one other service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Downstream {
    /// Address and port of the other end, or `unix:` and its path.
    pub to: String,
    /// Established connections.
    pub connections: u32,
    /// Of them, those whose last bytes went out and have no response yet.
    pub waiting: u32,
    /// Connections being opened.
    pub opening: u32,
    /// Mean smoothed round trip, microseconds; 0 for unix sockets.
    pub rtt_us: u32,
    /// Time since bytes last came in on those that wait, median, milliseconds. Absent when none
    /// waits, and for unix sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_ms: Option<u32>,
}

/// One disk, from `/proc/diskstats`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// Device name.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Time with requests in flight, milliseconds.
    pub busy_ms: u64,
    /// Time of all requests together, milliseconds.
    pub waiting_ms: u64,
}

/// Clock and throttling of one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuClock {
    /// CPU number.
    pub cpu: u32,
    /// Frequency now, kilohertz.
    pub now_khz: Option<u64>,
    /// Highest frequency, kilohertz.
    pub max_khz: Option<u64>,
    /// Times the core was throttled for heat since boot.
    pub throttles: Option<u64>,
}

/// What reading cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeCost {
    /// CPU time of the probe thread since it started, nanoseconds.
    pub cpu_ns: u64,
    /// Time since it started, nanoseconds.
    pub elapsed_ns: u64,
    /// Rounds of reading done.
    pub rounds: u64,
    /// Rounds that started more than one period late.
    pub late_rounds: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK_NS: u64 = 10_000_000;

    #[test]
    fn a_reading_describes_its_middle_whatever_another_host_says() {
        let at_ns =
            |begin_ns, end_ns| Reading { begin_ns, end_ns, data: Data::Cpus(Vec::new()) }.at_ns();
        assert_eq!((at_ns(10, 14), at_ns(14, 10)), (12, 12));
        assert_eq!(at_ns(u64::MAX, u64::MAX - 2), u64::MAX - 1);
    }

    fn shares(user: u64, system: u64, idle: u64, passed_ticks: f64) -> CpuShares {
        let now = CpuTimes { user, system, idle, ..CpuTimes::default() };
        let passed_ns = passed_ticks * TICK_NS as f64;
        now.shares_since(&CpuTimes::default(), passed_ns, TICK_NS).unwrap()
    }

    #[test]
    fn readings_of_earlier_versions_load_and_are_written_as_before() {
        let lines = [
            r#"{"source":"tcp","values":{"Tcp.OutSegs":31655493}}"#,
            r#"{"source":"softirqs","values":{"NET_RX":[1,0,7]}}"#,
            r#"{"source":"drivers","values":{"eth0":{"rx_drops":4}}}"#,
            r#"{"source":"server_runtime","values":{"gc_pause_seconds":0.25}}"#,
            r#"{"source":"softnet","values":[]}"#,
            r#"{"source":"client_files","values":{"pid":1,"open":2,"limit":3}}"#,
            r#"{"source":"inside","values":{"source":"tcp","values":{"Tcp.OutSegs":31655493}}}"#,
        ];
        for line in lines {
            let data: Data = serde_json::from_str(line).unwrap();
            assert!(line.contains(&format!("\"{}\"", data.source())), "{line}");
            assert_eq!(serde_json::to_string(&data).unwrap(), line);
        }
        let typed: Data = serde_json::from_str(lines[4]).unwrap();
        assert_eq!(typed, Data::Softnet(Vec::new()), "it is not just a list of values");
        for wrong in [r#"{"source":"tcp","values":{"a":"b"}}"#, r#"{"source":"tcp"}"#, "7"] {
            assert!(serde_json::from_str::<Data>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bursts_that_the_tick_missed_are_not_idle() {
        // 60 of 100 ticks were idle, only 10 busy ones were caught.
        let shares = shares(8, 2, 60, 100.0);
        assert!((shares.busy() - 0.40).abs() < 1e-9);
        assert!((shares.user - 0.32).abs() < 1e-9 && (shares.system - 0.08).abs() < 1e-9);
    }

    #[test]
    fn without_busy_ticks_a_cpu_is_idle() {
        assert!((shares(0, 0, 97, 100.0).idle - 1.0).abs() < 1e-9);
        let none = CpuTimes::default();
        assert_eq!(none.shares_since(&none, 1e9, TICK_NS), None);
    }

    #[test]
    fn times_of_a_hostile_record_add_up_to_the_end_of_their_range() {
        let most = u64::MAX;
        let all = CpuTimes { user: most, steal: 1, idle: 5, iowait: most, ..CpuTimes::default() };
        assert_eq!((all.busy(), all.total()), (most, most));
    }

    proptest! {
        #[test]
        fn shares_add_up(
            user in 0u64..300,
            system in 0u64..300,
            idle in 0u64..300,
            passed in 1f64..300.0,
        ) {
            prop_assume!(user + system + idle > 0);
            let shares = shares(user, system, idle, passed);
            let sum = shares.busy() + shares.idle;
            let parts = shares.user + shares.system + shares.idle;
            prop_assert!((sum - 1.0).abs() < 1e-9 && (parts - 1.0).abs() < 1e-9, "{shares:?}");
        }
    }
}
