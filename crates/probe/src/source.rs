//! The registry: every source of readings, and what they have in common.
//!
//! A source is one file in this folder, always of the same shape: a header that says what is read
//! and what the numbers mean, a `parse` from bytes to values, and a small reader. To add one, write
//! the file and add its line to [`REGISTRY`].

pub mod conntrack;
pub mod cpu_clocks;
pub mod disks;
pub mod interrupts;
pub mod memory;
pub mod net_dev;
pub mod numa;
pub mod pressure;
pub mod qdiscs;
pub mod sockstat;
pub mod softirqs;
pub mod softnet;
pub mod stat;
pub mod tcp;

pub mod cgroup;
pub mod files;
pub mod threads;
pub mod threads_now;

pub mod downstreams;
pub mod drivers;
pub mod sock_diag;

pub mod server_runtime;

pub mod self_cost;

use crate::tree::Tree;
use model::facts::Unreadable;
use model::reading::Data;
use model::root::Root;
use model::units::NS_PER_MS;
use std::net::SocketAddr;

/// How often a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cadence {
    /// In every round.
    EveryRound,
    /// Not more often than once in so many nanoseconds.
    AtMostEveryNs(u64),
}

/// One line of the registry.
#[derive(Debug)]
pub struct Entry {
    /// Short name, the same as its file's.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// How often.
    pub cadence: Cadence,
    /// Makes the reader; nothing when there is no server, or no port, to read about.
    pub(crate) open: fn(&Scope) -> Option<Box<dyn Source>>,
}

/// Which ends of the load are on this host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ends {
    /// The generator, which is this process, and the server too if it is anywhere near.
    #[default]
    Both,
    /// Only the generator: who listens here is not the server.
    Client,
    /// Only the server: this process does nothing but probe.
    Server,
}

/// What the readings are about.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Root of the server's process tree.
    pub server_pid: Option<u32>,
    /// Port under test.
    pub port: Option<u16>,
    /// Where the server's runtime tells about itself, when it does.
    pub runtime: Option<SocketAddr>,
    /// Files about threads of the server that may stay open between rounds.
    pub kept_files: usize,
    /// Where the files of the host are.
    pub root: Root,
    /// Which ends are here.
    pub ends: Ends,
}

impl Scope {
    /// Root of the server's process tree, when it is to be read.
    pub(crate) fn server(&self) -> Option<u32> {
        self.server_pid.filter(|_| self.ends != Ends::Client)
    }

    /// Whether this process is the generator.
    pub(crate) fn has_client(&self) -> bool {
        self.ends != Ends::Server
    }
}

/// What a source may know about the round in which it is read.
pub(crate) struct Round<'a> {
    /// When the round was due, monotonic nanoseconds.
    pub due_ns: u64,
    /// The server's process tree, or why there is none any more.
    pub server: Option<Result<&'a Tree, &'a Unreadable>>,
}

impl<'a> Round<'a> {
    /// The server's tree, for a source that exists only when there is a server.
    pub fn server(&self) -> Result<&'a Tree, Unreadable> {
        match self.server {
            Some(Ok(tree)) => Ok(tree),
            Some(Err(ended)) => Err(ended.clone()),
            None => unreachable!("a source about the server was opened without a server"),
        }
    }
}

/// A reader of one source.
pub(crate) trait Source: Send {
    /// The counters as they are now, or why they cannot be had.
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable>;
}

const EVERY_ROUND: Cadence = Cadence::EveryRound;
const FIFTH_SECOND: Cadence = Cadence::AtMostEveryNs(200 * NS_PER_MS);
const HALF_SECOND: Cadence = Cadence::AtMostEveryNs(500 * NS_PER_MS);
const SECOND: Cadence = Cadence::AtMostEveryNs(1000 * NS_PER_MS);
const TWO_SECONDS: Cadence = Cadence::AtMostEveryNs(2000 * NS_PER_MS);

const fn entry(
    name: &'static str,
    reads: &'static str,
    cadence: Cadence,
    open: fn(&Scope) -> Option<Box<dyn Source>>,
) -> Entry {
    Entry { name, reads, cadence, open }
}

/// Every source, in the order in which a round reads them: what changes fastest first, so that the
/// files compared with each other are read close together.
///
/// `self_cost` has no line here: it is about the reader, which measures it after all others.
#[rustfmt::skip]
pub const REGISTRY: &[Entry] = &[
    entry("stat", "/proc/stat", EVERY_ROUND, stat::open),
    entry("softnet", "/proc/net/softnet_stat", EVERY_ROUND, softnet::open),
    entry("server threads", "/proc/PID/task/TID/{schedstat,stat}", EVERY_ROUND, threads::server),
    entry("threads now", "/proc/PID/task/TID/{syscall,stat,wchan}", EVERY_ROUND, threads_now::open),
    entry("client threads", "/proc/self/task/TID/{schedstat,stat}", EVERY_ROUND, threads::client),
    entry("listeners", "sock_diag, LISTEN", FIFTH_SECOND, sock_diag::listeners),
    entry("downstreams", "sock_diag and /proc/PID/fd", HALF_SECOND, downstreams::open),
    entry("tcp", "/proc/net/{snmp,netstat}", FIFTH_SECOND, tcp::open),
    entry("net_dev", "/proc/net/dev", EVERY_ROUND, net_dev::open),
    entry("sockstat", "/proc/net/{sockstat,sockstat6}", FIFTH_SECOND, sockstat::open),
    entry("qdiscs", "rtnetlink, RTM_GETQDISC", FIFTH_SECOND, qdiscs::open),
    entry("server cgroup", "cpu.stat and quota of its cgroups", FIFTH_SECOND, cgroup::server),
    entry("client cgroup", "cpu.stat and quota of our cgroups", FIFTH_SECOND, cgroup::client),
    entry("softirqs", "/proc/softirqs", HALF_SECOND, softirqs::open),
    entry("pressure", "/proc/pressure/*", HALF_SECOND, pressure::open),
    entry("drivers", "SIOCETHTOOL, statistics", HALF_SECOND, drivers::open),
    entry("conntrack", "nf_conntrack_{count,max} and its statistics", HALF_SECOND, conntrack::open),
    entry("connections", "sock_diag, ESTABLISHED", SECOND, sock_diag::connections),
    entry("interrupts", "/proc/interrupts", TWO_SECONDS, interrupts::open),
    entry("server runtime", "GET /debug/runtime", SECOND, server_runtime::open),
    entry("memory", "/proc/vmstat and memory of its cgroup", SECOND, memory::open),
    entry("disks", "/proc/diskstats", SECOND, disks::open),
    entry("numa", "/sys/devices/system/node/nodeN/numastat", SECOND, numa::open),
    entry("cpu clocks", "/sys/devices/system/cpu/cpuN/cpufreq", SECOND, cpu_clocks::open),
    entry("server files", "/proc/PID/{fd,limits}", SECOND, files::server),
    entry("client files", "/proc/self/{fd,limits}", SECOND, files::client),
];
