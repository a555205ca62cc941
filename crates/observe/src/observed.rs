//! Everything that the readings of a window say.

use crate::cpus::{CpuShare, QuotaShare};
use crate::lost::Losses;
use crate::network::{ConntrackUse, Drivers, InterruptUse, LinkUse, QdiscUse, SoftnetUse};
use crate::server::{DoingShares, DownstreamUse, SocketCensus, SocketsOf};
use crate::threads::{ThreadShare, cpus_of};
use model::facts::Unreadable;
use model::reading::{OpenFiles, TuningNow};
use model::tuning::{Fate, Row};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Changed values over the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    pub(crate) fn add(&mut self, now: TuningNow) {
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct QueuePeak {
    /// Connections waiting.
    pub queued: u32,
    /// Length it may reach.
    pub backlog: u32,
    /// Connections waiting in all queues of the port together, mean over reads.
    pub mean_queued: f64,
    /// How often the queues were read.
    pub reads: u32,
    /// In how many of the reads no connection waited in any of them.
    pub empty_reads: u32,
}

/// Everything the readings of a window say. What was not read is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Time between the two reads of `tcp`, seconds.
    pub tcp_s: Option<f64>,
    /// Open TCP connections of the network namespace, at most.
    pub established: Option<u64>,
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
    /// The connections of the server by process; empty where it has one process.
    pub server_sockets: Option<Vec<SocketsOf>>,
    /// Receive work by CPU.
    pub softnet: Option<Vec<SoftnetUse>>,
    /// Time between its two reads, seconds.
    pub softnet_s: Option<f64>,
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
    /// CPUs' worth of time that threads of the server used until they ended in the window.
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
    /// Resident memory of the server's processes together, at most.
    pub server_bytes: Option<u64>,
    /// Figures of the server's runtime, change over the window.
    pub runtime: Option<BTreeMap<String, f64>>,
    /// Time that single requests may have lost on the server's host, by cause; retransmits are
    /// those of the network namespace.
    pub lost: Losses,
    /// What was observed on the server's host, when a probe there was read, or on this host as seen
    /// from the server's own network namespace. All fields about the server are then in it.
    pub far: Option<Box<Observed>>,
    /// What was read in the server's own network namespace, where that is not the probe's: nothing
    /// about the host or about processes.
    pub inside: Option<Box<Observed>>,
    /// CPUs' worth of time of the probe itself.
    pub probe_cpus: Option<f64>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

impl Observed {
    /// CPUs' worth of time the generator's threads used, with those that ended in the window.
    pub fn client_cpus(&self) -> Option<f64> {
        cpus_of(self.client_threads.as_deref()?, self.client_ended_cpus)
    }

    /// CPUs' worth of time the server's threads used, with those that ended in the window.
    pub fn server_cpus(&self) -> Option<f64> {
        cpus_of(self.server_threads.as_deref()?, self.server_ended_cpus)
    }

    /// The connection tracking tables that packets of this host pass through.
    pub fn conntracks(&self) -> impl Iterator<Item = ConntrackUse> {
        self.conntrack.into_iter().chain(self.conntrack_inside)
    }
}
