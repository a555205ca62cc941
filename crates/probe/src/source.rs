//! The registry: every source of readings, and what they have in common.
//!
//! A source is one file in this folder, always of the same shape: a header that says what is read
//! and what the numbers mean, a `parse` from bytes to values, a declaration of its figures, and a
//! small reader. To add one, write the file and add its line to [`REGISTRY`]; code that draws or
//! exports readings uses the declaration.

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
pub mod file_handles;
pub mod files;
pub mod threads;
pub mod threads_now;

pub mod downstreams;
pub mod drivers;
pub mod server_sockets;
pub mod sock_diag;

pub mod jvm;
pub mod server_runtime;

pub mod self_cost;

use crate::network::Network;
use crate::tree::Tree;
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::Data;
use model::root::Root;
use model::units::NS_PER_MS;
use std::net::{IpAddr, SocketAddr};

/// How often a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cadence {
    /// In every round.
    EveryRound,
    /// At most once in this many nanoseconds, but [`READS_MIN`] times in a window of a second or
    /// more.
    AtMostEveryNs(u64),
}

/// Reads of each source in a window: without them a window says nothing about what it shows.
pub(crate) const READS_MIN: u64 = 4;
/// The shortest window that is worth that many: ten rounds of everything a second cost too much.
const WINDOW_MIN_NS: u64 = 1000 * NS_PER_MS;

impl Cadence {
    /// Time between two reads where windows are this long, nanoseconds.
    pub(crate) fn every_ns(self, window_ns: u64) -> u64 {
        match self {
            Self::EveryRound => 0,
            Self::AtMostEveryNs(every_ns) => every_ns.min(window_ns.max(WINDOW_MIN_NS) / READS_MIN),
        }
    }
}

/// What a source belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// The host or the processes, wherever the probe is.
    Host,
    /// A network namespace: it is read in that of the probe, and also in that of the server when
    /// that is another.
    Network,
}

/// One line of the registry.
#[derive(Debug)]
pub struct SourceEntry {
    /// Its name, what it reads, and what its figures are.
    pub declared: fn() -> Declaration,
    /// How often it is read.
    pub cadence: Cadence,
    /// What it belongs to.
    pub(crate) of: Of,
    /// Makes the reader; nothing when there is no server, or no port, to read about.
    pub(crate) open: fn(&Scope) -> Option<Box<dyn Source>>,
}

/// Which ends of the load are on this host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ends {
    /// The generator, which is this process, and the server too if it is on this host.
    #[default]
    Both,
    /// Only the generator: a listener here is not the server.
    Client,
    /// Only the server: this process does nothing but probe.
    Server,
}

/// What the readings are about.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Root of the server's process tree.
    pub server_pid: Option<u32>,
    /// The process of a tool that is the generator, when this process is not.
    pub tool_pid: Option<u32>,
    /// Port under test.
    pub port: Option<u16>,
    /// Addresses that the generator connects to; empty when they are not known.
    pub addresses: Vec<IpAddr>,
    /// Address of the statistics of the server's runtime, if it has any.
    pub runtime: Option<SocketAddr>,
    /// Files about threads of the server that may stay open between rounds.
    pub kept_files: usize,
    /// Where the files of the host are.
    pub root: Root,
    /// Which ends are here.
    pub ends: Ends,
    /// Which network namespace they are of.
    pub(crate) network: Network,
}

impl Scope {
    /// Makes the reader of a source, when it is one of this thread.
    pub(crate) fn open(&self, entry: &SourceEntry) -> Option<Box<dyn Source>> {
        let is_here = !self.network.is_inside() || entry.of == Of::Network;
        if is_here { (entry.open)(self) } else { None }
    }

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
    /// The server's process tree, or why there is none.
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

/// Whose figures a source reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Whose {
    Client,
    Server,
}

/// A reader of one source.
pub(crate) trait Source: Send {
    /// The counters as they are now, or why they cannot be read.
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable>;
}

const EVERY_ROUND: Cadence = Cadence::EveryRound;
const FIFTH_SECOND: Cadence = Cadence::AtMostEveryNs(200 * NS_PER_MS);
const HALF_SECOND: Cadence = Cadence::AtMostEveryNs(500 * NS_PER_MS);
const SECOND: Cadence = Cadence::AtMostEveryNs(1000 * NS_PER_MS);
const TWO_SECONDS: Cadence = Cadence::AtMostEveryNs(2000 * NS_PER_MS);

const fn entry(
    declared: fn() -> Declaration,
    cadence: Cadence,
    open: fn(&Scope) -> Option<Box<dyn Source>>,
) -> SourceEntry {
    SourceEntry { declared, cadence, of: Of::Host, open }
}

const fn network(
    declared: fn() -> Declaration,
    cadence: Cadence,
    open: fn(&Scope) -> Option<Box<dyn Source>>,
) -> SourceEntry {
    SourceEntry { declared, cadence, of: Of::Network, open }
}

/// Every source, in the order in which a round reads them: what changes fastest first, so that the
/// files compared with each other are read close together.
///
/// `self_cost` has no line here: it is about the reader, which measures it after all others.
#[rustfmt::skip]
pub const REGISTRY: &[SourceEntry] = &[
    entry(stat::declared, EVERY_ROUND, stat::open),
    entry(softnet::declared, EVERY_ROUND, softnet::open),
    entry(threads::server_declared, EVERY_ROUND, threads::server),
    entry(threads_now::declared, EVERY_ROUND, threads_now::open),
    entry(threads::client_declared, EVERY_ROUND, threads::client),
    network(sock_diag::listeners_declared, FIFTH_SECOND, sock_diag::listeners),
    network(downstreams::declared, FIFTH_SECOND, downstreams::open),
    network(tcp::declared, FIFTH_SECOND, tcp::open),
    network(net_dev::declared, EVERY_ROUND, net_dev::open),
    network(sockstat::declared, FIFTH_SECOND, sockstat::open),
    network(qdiscs::declared, FIFTH_SECOND, qdiscs::open),
    entry(cgroup::server_declared, FIFTH_SECOND, cgroup::server),
    entry(cgroup::client_declared, FIFTH_SECOND, cgroup::client),
    entry(softirqs::declared, HALF_SECOND, softirqs::open),
    entry(pressure::declared, HALF_SECOND, pressure::open),
    network(drivers::declared, HALF_SECOND, drivers::open),
    network(conntrack::declared, HALF_SECOND, conntrack::open),
    network(sock_diag::connections_declared, HALF_SECOND, sock_diag::connections),
    network(server_sockets::declared, TWO_SECONDS, server_sockets::open),
    entry(interrupts::declared, TWO_SECONDS, interrupts::open),
    entry(server_runtime::declared, SECOND, server_runtime::open),
    entry(memory::declared, HALF_SECOND, memory::open),
    entry(disks::declared, SECOND, disks::open),
    entry(numa::declared, SECOND, numa::open),
    entry(cpu_clocks::declared, SECOND, cpu_clocks::open),
    entry(file_handles::declared, SECOND, file_handles::open),
    entry(files::server_declared, SECOND, files::server),
    entry(files::client_declared, SECOND, files::client),
];

/// What the figures of all sources are, in the order of the registry.
pub fn declared() -> Vec<Declaration> {
    let all = REGISTRY.iter().map(|entry| (entry.declared)());
    all.chain([self_cost::declared()]).collect()
}

/// Runs the parsers of all sources over the same bytes.
pub(crate) fn parse_as_everything(bytes: &[u8]) {
    let _ = stat::parse(bytes);
    let _ = softnet::parse(bytes);
    let _ = softirqs::parse(bytes);
    let _ = net_dev::parse(bytes);
    let _ = tcp::parse(bytes);
    let _ = sockstat::parse(bytes);
    let _ = pressure::parse(bytes);
    let _ = threads::parse(bytes);
    let _ = threads_now::parse(bytes);
    let _ = threads_now::by_channel(bytes);
    let _ = cgroup::parse(bytes);
    let _ = cgroup::parse_max(bytes);
    let _ = cgroup::parse_v1_us(bytes);
    let _ = file_handles::parse(bytes);
    let _ = sock_diag::parse(bytes);
    let _ = qdiscs::parse(bytes);
    let _ = disks::parse(bytes);
    let _ = memory::parse(bytes);
    let _ = memory::parse_events(bytes);
    let _ = memory::parse_limit(bytes);
    let _ = memory::parse_resident(bytes);
    let _ = numa::parse(bytes);
    let _ = jvm::parse(bytes);
    let _ = server_runtime::parse(bytes);
    let _ = server_runtime::parse_response(bytes);
    let _ = cpu_clocks::parse(bytes);
    let _ = conntrack::parse(bytes);
    let _ = conntrack::parse_number(bytes);
    let _ = drivers::parse(bytes);
}
