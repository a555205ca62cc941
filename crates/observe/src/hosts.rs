//! The figures of the host of one side in a window.
//!
//! For: `points[].hosts`, and all that is made of it. In: what was observed on a host. Out: figures
//! by name, in their units. Never: a figure that was not read, or that is not finite.

use crate::capacity::{Capacity, capacities, outward};
use crate::cpus::CpuShare;
use crate::network::{FRAME_EXTRA_BYTES, LinkUse, SoftnetUse};
use crate::observed::Observed;
use crate::server::SocketsOf;
use model::facts::Nic;
use model::figure::{Figure, OfHost, Whose};
use model::link::LinkLimits;
use model::maps::IntoMap;
use std::collections::BTreeMap;

/// The parent of a server's workers is not one of them if it used less of a CPU than this.
const PARENT_WORKS: f64 = 0.02;
/// Share of the server's CPU time that threads which have ended may have used: by which process is
/// not known.
const ENDED_MAX: f64 = 0.01;

/// Which interface of a host carries the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// None: a Unix socket.
    None,
    /// Loopback.
    Loopback,
    /// The busiest one: the server is in another network namespace of the same machine.
    Busiest,
    /// The busiest one that leads out of the host.
    Outward,
}

/// What is known of the host of a side.
#[derive(Debug, Clone, Copy)]
pub struct SideHost<'a> {
    /// The side.
    pub whose: Whose,
    /// What was observed there.
    pub seen: &'a Observed,
    /// Its interfaces.
    pub nics: &'a [Nic],
    /// The limits of its link that the user stated.
    pub stated: Option<&'a LinkLimits>,
    /// Which interface carries the load.
    pub carrier: Carrier,
    /// The root of the server's process tree.
    pub parent: Option<u32>,
}

impl<'a> SideHost<'a> {
    /// All its figures that were read, except those that a point has elsewhere.
    pub fn figures(&self) -> BTreeMap<Figure, f64> {
        let of_side = OfHost::ALL.into_iter().filter(|of| of.is_of(self.whose));
        let read = |of| {
            let value = self.read(of).filter(|value| value.is_finite())?;
            Some((Figure::Host(of, self.whose), value))
        };
        of_side.filter_map(read).into_map()
    }

    fn read(&self, of: OfHost) -> Option<f64> {
        let seen = self.seen;
        match of {
            OfHost::Busy => {
                let cpus = seen.cpus.as_deref().filter(|cpus| !cpus.is_empty())?;
                Some(cpus.iter().map(CpuShare::busy).sum::<f64>() / cpus.len() as f64)
            }
            OfHost::Busiest => {
                seen.cpus.iter().flatten().map(CpuShare::busy).max_by(f64::total_cmp)
            }
            // CPU time is counted once, beside the cost of a request.
            OfHost::Cores => None,
            OfHost::Received => self.link().map(|link| counted(link.rx_bytes_s, link.rx_packets_s)),
            OfHost::Sent => self.link().map(|link| counted(link.tx_bytes_s, link.tx_packets_s)),
            OfHost::LinkReceived => self.capacity()?.received(),
            OfHost::LinkSent => self.capacity()?.sent(),
            OfHost::Packets => self.link().map(|link| link.rx_packets_s + link.tx_packets_s),
            OfHost::Interrupts => {
                Some(seen.interrupts.as_ref()?.iter().map(|one| one.per_s).sum::<f64>() + 0.0)
            }
            OfHost::SoftirqDrops => self.softnet(|cpu| cpu.dropped),
            OfHost::SoftirqSqueezes => self.softnet(|cpu| cpu.squeezed),
            OfHost::AcceptQueue => Some(f64::from(seen.listeners?.queued)),
            OfHost::AcceptOverflows => self.tcp_s("TcpExt.ListenOverflows"),
            OfHost::SynDrops => self.tcp_s("TcpExt.TCPReqQFullDrop"),
            OfHost::ListenDrops => self.tcp_s("TcpExt.ListenDrops"),
            OfHost::Established => seen.established.map(|count| count as f64),
            OfHost::Resent => {
                let sent = self.tcp("Tcp.OutSegs").filter(|sent| *sent > 0.0)?;
                Some(self.tcp("Tcp.RetransSegs")? / sent)
            }
            OfHost::Memory => seen.server_bytes.map(|bytes| bytes as f64),
            OfHost::Throttled => {
                let groups = match self.whose {
                    Whose::Client => &seen.client_quotas,
                    Whose::Server => &seen.server_quotas,
                };
                let shares = groups.iter().flatten().map(|group| group.throttled_periods);
                shares.max_by(f64::total_cmp)
            }
            OfHost::Fairness => self.fairness(),
            OfHost::FairnessConnections => self.fairness_of_sockets(|of| of.connections as f64),
            OfHost::FairnessReceived => self.fairness_of_sockets(|of| of.received_s),
            OfHost::Threads => Some(seen.server_threads.as_ref()?.len() as f64),
        }
    }

    /// Interfaces whose speed is known.
    pub(crate) fn capacities(&self) -> Vec<Capacity<'a>> {
        capacities(self.nics, self.seen, self.stated)
    }

    /// The interface that carries the load.
    fn link(&self) -> Option<&'a LinkUse> {
        let links = self.seen.links.as_deref()?;
        let moved = |link: &&LinkUse| link.rx_bytes_s + link.tx_bytes_s;
        match self.carrier {
            Carrier::None => None,
            Carrier::Loopback => links.iter().find(|link| link.name == "lo"),
            Carrier::Busiest => {
                links.iter().max_by(|left, right| moved(left).total_cmp(&moved(right)))
            }
            Carrier::Outward => outward(self.nics, links),
        }
    }

    /// The same with its speed, where that is known.
    fn capacity(&self) -> Option<Capacity<'a>> {
        let link = self.link()?;
        let mut all = self.capacities().into_iter();
        all.find(|capacity| capacity.link.name == link.name)
    }

    /// A count over all CPUs, per second.
    fn softnet(&self, of: fn(&SoftnetUse) -> u32) -> Option<f64> {
        let rows = self.seen.softnet.as_ref()?;
        let all: u64 = rows.iter().map(|row| u64::from(of(row))).sum();
        Some(all as f64 / self.seen.softnet_s?)
    }

    fn tcp(&self, name: &str) -> Option<f64> {
        Some(*self.seen.tcp.as_ref()?.get(name)? as f64)
    }

    fn tcp_s(&self, name: &str) -> Option<f64> {
        Some(self.tcp(name)? / self.seen.tcp_s?)
    }

    /// How evenly the server's processes used the CPUs.
    fn fairness(&self) -> Option<f64> {
        let mut used: BTreeMap<u32, f64> = BTreeMap::new();
        for thread in self.seen.server_threads.as_ref()? {
            *used.entry(thread.pid).or_default() += thread.run;
        }
        if let Some(parent) = self.parent
            && used.get(&parent).is_some_and(|share| *share < PARENT_WORKS)
        {
            used.remove(&parent);
        }
        let is_whole = self.seen.server_ended_cpus <= ENDED_MAX * used.values().sum::<f64>();
        jain(used.into_values()).filter(|_| is_whole)
    }

    /// How evenly something of the server's connections is spread over its processes.
    fn fairness_of_sockets(&self, of: fn(&SocketsOf) -> f64) -> Option<f64> {
        let is_idle_parent = |one: &&SocketsOf| {
            self.parent == Some(one.pid) && one.connections == 0 && one.received_s == 0.0
        };
        let all = self.seen.server_sockets.as_deref()?.iter();
        jain(all.filter(|one| !is_idle_parent(one)).map(of))
    }
}

/// Jain's index: the square of the sum of the shares over their number times the sum of their
/// squares. 1 where all are the same, 1/n where one is everything. Of one share, and where all are
/// zero, there is none. Source: Jain, Chiu and Hawe, A Quantitative Measure of Fairness and
/// Discrimination, DEC-TR-301, 1984.
fn jain(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        (count, sum, squares) = (count + 1.0, sum + share, squares + share * share);
    }
    (count > 1.0 && squares > 0.0).then(|| sum * sum / (count * squares))
}

/// Bytes without the framing that no interface counts.
pub(crate) fn counted(wire_bytes_s: f64, packets_s: f64) -> f64 {
    (wire_bytes_s - packets_s * FRAME_EXTRA_BYTES as f64).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::facts::NicSettings;
    use model::host_now::HostNow;
    use model::reading::{
        CpuTimes, Data, Interface, Interrupt, Listener, QuotaUse, Reading, Softnet, ThreadTimes,
        Value, Values,
    };
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;
    const TICK_NS: u64 = SECOND / 100;

    fn counts(source: &str, counts: &[(&str, u64)]) -> Data {
        let pair = |(name, count): &(&str, u64)| ((*name).to_string(), Value::Count(*count));
        Data::values(source, counts.iter().map(pair))
    }

    /// A parent without connections, and two workers: one has most of them, the other most bytes.
    fn sockets(more: u64) -> Data {
        let of_process = |(pid, held, received): (u32, u64, u64)| {
            let of = [("connections", held * more), ("received_bytes", 70 + received * more)];
            (pid.to_string(), of.map(|(name, count)| (name.to_string(), count)).into_map())
        };
        let rows = [(1, 0, 0), (2, 14, 500), (3, 2, 1500)].map(of_process);
        Data::values::<BTreeMap<String, u64>>(Values::SERVER_SOCKETS, rows)
    }

    /// What one of two reads says, two seconds apart: `more` is the growth of every counter.
    fn read(more: u64) -> Vec<Data> {
        let cpu = |cpu, user, idle| CpuTimes { cpu, user, idle, ..CpuTimes::default() };
        let link = |name: &str, rx_bytes: u64, tx_bytes: u64| Interface {
            name: name.to_string(),
            rx_bytes: rx_bytes * more,
            tx_bytes: tx_bytes * more,
            rx_packets: 1_000 * more,
            tx_packets: 3_000 * more,
            ..Interface::default()
        };
        let thread = |pid, ms: u64| ThreadTimes {
            pid,
            tid: pid,
            run_ns: 5 * SECOND + ms * 1_000_000 * more,
            ..ThreadTimes::default()
        };
        let quota = |throttled| QuotaUse {
            group: "/web".to_string(),
            periods: 7 + 20 * more,
            throttled_periods: 3 + throttled * more,
            ..QuotaUse::default()
        };
        let softnet = |cpu| Softnet {
            cpu,
            dropped: 4 * more as u32,
            time_squeeze: 7 * more as u32,
            ..Softnet::default()
        };
        let (irq, device) = ("24".to_string(), "eth0-rx".to_string());
        vec![
            Data::Cpus(vec![cpu(0, 50 * more, 150 * more), cpu(1, 180 * more, 20 * more)]),
            Data::Interfaces(vec![link("lo", 7, 7), link("eth0", 1_000_000, 50_000_000)]),
            Data::Interrupts(vec![Interrupt {
                irq,
                device,
                per_cpu: vec![100 * more, 500 * more],
                allowed: None,
            }]),
            Data::Softnet(vec![softnet(0), softnet(1)]),
            Data::Listeners(vec![Listener {
                queued: 3 + 4 * more as u32,
                backlog: 128,
                ..Listener::default()
            }]),
            counts(
                Values::TCP,
                &[
                    ("Tcp.OutSegs", 10_000 * more),
                    ("Tcp.RetransSegs", 20 * more),
                    ("Tcp.CurrEstab", 96 + 4 * more),
                    ("TcpExt.ListenOverflows", 6 * more),
                    ("TcpExt.ListenDrops", 10 * more),
                    ("TcpExt.TCPReqQFullDrop", 2 * more),
                ],
            ),
            counts(Values::MEMORY, &[(crate::tracked::SERVER_BYTES, 1_000_000 + 500_000 * more)]),
            // A parent that hardly works, and two workers of which one does three times as much.
            Data::ServerThreads(vec![thread(1, 1), thread(2, 300), thread(3, 900)]),
            sockets(more),
            Data::ServerQuota(vec![quota(5)]),
            Data::ClientQuota(vec![quota(0)]),
        ]
    }

    fn observed() -> Observed {
        let at = |seconds: u64, more| {
            let at_ns = seconds * SECOND;
            let reading = move |data| Reading { begin_ns: at_ns, end_ns: at_ns, data };
            read(more).into_iter().map(reading)
        };
        Observed::of(at(1, 0).chain(at(3, 1)), TICK_NS)
    }

    fn eth0() -> Vec<Nic> {
        let (name, driver) = ("eth0".to_string(), Some("virtio_net".to_string()));
        let settings = NicSettings::default();
        let (rx_queues, tx_queues, mtu) = (1, 1, None);
        vec![Nic { name, driver, mtu, speed_mbps: None, rx_queues, tx_queues, settings }]
    }

    fn seen<'a>(whose: Whose, seen: &'a Observed, nics: &'a [Nic]) -> SideHost<'a> {
        SideHost { whose, seen, nics, stated: None, carrier: Carrier::Outward, parent: Some(1) }
    }

    #[test]
    fn each_figure_is_read_with_its_value() {
        let (observed, nics) = (observed(), eth0());
        let limits = LinkLimits { bits_s: Some(1_000_000_000), ..LinkLimits::default() };
        let far = SideHost { stated: Some(&limits), ..seen(Whose::Server, &observed, &nics) };
        let expected = [
            (OfHost::Busy, 0.575),
            (OfHost::Busiest, 0.9),
            (OfHost::Received, 500_000.0),
            (OfHost::Sent, 25e6),
            (OfHost::LinkReceived, 0.004),
            (OfHost::LinkSent, 0.2),
            (OfHost::Packets, 2_000.0),
            (OfHost::Interrupts, 300.0),
            (OfHost::SoftirqDrops, 4.0),
            (OfHost::SoftirqSqueezes, 7.0),
            (OfHost::AcceptQueue, 7.0),
            (OfHost::AcceptOverflows, 3.0),
            (OfHost::SynDrops, 1.0),
            (OfHost::ListenDrops, 5.0),
            (OfHost::Established, 100.0),
            (OfHost::Resent, 0.002),
            (OfHost::Memory, 1.5e6),
            (OfHost::Throttled, 0.25),
            // (1 + 3)^2 / (2 * (1 + 9))
            (OfHost::Fairness, 0.8),
            // (14 + 2)^2 / (2 * (196 + 4)): the parent holds none.
            (OfHost::FairnessConnections, 0.64),
            // (1 + 3)^2 / (2 * (1 + 9))
            (OfHost::FairnessReceived, 0.8),
            (OfHost::Threads, 3.0),
        ];
        let figures = far.figures();
        for (of, value) in expected {
            let read = figures.get(&Figure::Host(of, Whose::Server)).copied();
            let read = read.unwrap_or_else(|| panic!("{of:?} was not read"));
            assert!((read - value).abs() < 1e-9 * value.max(1.0), "{of:?}: {read}, not {value}");
        }
        let without_cores = OfHost::ALL.len() - 1;
        assert_eq!((expected.len(), figures.len()), (without_cores, without_cores));
    }

    #[test]
    fn what_is_shown_meanwhile_has_the_values_of_the_figures() {
        let (observed, nics) = (observed(), eth0());
        let limits = LinkLimits { bits_s: Some(1_000_000_000), ..LinkLimits::default() };
        let far = SideHost { stated: Some(&limits), ..seen(Whose::Server, &observed, &nics) };
        let (now, figures) = (far.now(), far.figures());
        assert_eq!(now.figures.len(), OfHost::SHOWN_MEANWHILE.len());
        assert!(now.figures.iter().all(|(figure, value)| figures[figure] == *value));
        assert_eq!(now.cpus, Some(vec![(0, [25, 0, 0, 0, 0, 0]), (1, [90, 0, 0, 0, 0, 0])]));
        assert_eq!(now.interrupts, Some(vec![("eth0-rx".to_string(), 300.0)]));
        let links = now.links.unwrap();
        let names: Vec<&str> = links.iter().map(|link| &*link.name).collect();
        assert_eq!((names, links[0].sent), (vec!["eth0", "lo"], 25e6));
        assert_eq!(
            links.iter().map(|link| link.shares).collect::<Vec<_>>(),
            [Some([0.004, 0.2]), None],
            "no speed of loopback is known"
        );
        let nothing = Observed::default();
        assert_eq!(seen(Whose::Server, &nothing, &nics).now(), HostNow::default());
    }

    #[test]
    fn zero_is_read_and_what_was_not_read_is_absent() {
        let (observed, nics) = (observed(), eth0());
        let near = seen(Whose::Client, &observed, &nics).figures();
        let of = |of| near.get(&Figure::Host(of, Whose::Client)).copied();
        assert_eq!(of(OfHost::Throttled), Some(0.0), "it was never throttled");
        assert_eq!(of(OfHost::LinkSent), None, "the speed is not known");
        assert_eq!(of(OfHost::Memory), None, "that of the server alone");
        let nothing = Observed::default();
        assert!(seen(Whose::Server, &nothing, &nics).figures().is_empty());
        let none = Observed { interrupts: Some(Vec::new()), ..Observed::default() };
        let none = seen(Whose::Server, &none, &nics).figures();
        assert_eq!(none.into_values().collect::<Vec<_>>(), [0.0], "no device interrupted");
    }

    #[test]
    fn the_interface_is_the_one_that_carries_the_load() {
        let (observed, nics) = (observed(), eth0());
        let sent = |carrier| {
            let side = SideHost { carrier, ..seen(Whose::Client, &observed, &nics) };
            side.figures().get(&Figure::Host(OfHost::Sent, Whose::Client)).copied()
        };
        assert_eq!(sent(Carrier::Outward), Some(25e6));
        assert_eq!(sent(Carrier::Busiest), Some(25e6));
        assert_eq!(sent(Carrier::Loopback), Some(3.5));
        assert_eq!(sent(Carrier::None), None, "a Unix socket");
    }

    #[test]
    fn one_process_and_work_of_which_the_process_is_not_known_have_no_fairness() {
        let of = |keep: &[u32], ended_cpus| {
            let mut observed = observed();
            let threads = observed.server_threads.as_mut().unwrap();
            threads.retain(|thread| keep.contains(&thread.pid));
            observed.server_ended_cpus = ended_cpus;
            let figures = seen(Whose::Server, &observed, &[]).figures();
            figures.get(&Figure::Host(OfHost::Fairness, Whose::Server)).copied()
        };
        assert!(of(&[1, 2, 3], 0.0).is_some());
        assert_eq!(of(&[1, 2], 0.0), None, "a parent and one worker");
        assert_eq!(of(&[1, 2, 3], 0.1), None, "threads that have ended did a part");
    }

    #[test]
    fn a_worker_without_connections_counts_and_an_idle_parent_does_not() {
        let of = |parent: u64, workers: &[u64]| {
            let held = [parent].into_iter().chain(workers.iter().copied());
            let row = |(pid, connections)| SocketsOf { pid, connections, received_s: 0.0 };
            let server_sockets = Some((1..).zip(held).map(row).collect());
            let observed = Observed { server_sockets, ..Observed::default() };
            let figures = seen(Whose::Server, &observed, &[]).figures();
            let get = |of| figures.get(&Figure::Host(of, Whose::Server)).copied();
            assert_eq!(get(OfHost::FairnessReceived), None, "nothing came in");
            get(OfHost::FairnessConnections)
        };
        assert_eq!(of(0, &[5, 5]), Some(1.0));
        assert_eq!(of(5, &[5, 5]), Some(1.0), "a parent that serves as well");
        assert_eq!(of(0, &[6, 0, 0, 0]), Some(0.25));
        assert_eq!(of(0, &[6]), None, "one worker");
        assert_eq!(of(0, &[0, 0]), None, "no connection");
    }

    proptest! {
        #[test]
        fn no_figure_is_infinite_or_not_a_number(
            numbers in prop::collection::vec(prop::num::f64::ANY, 8),
            seconds in prop::option::of(prop::num::f64::ANY),
            counts in prop::collection::vec(any::<u64>(), 4),
        ) {
            let mut observed = observed();
            for link in observed.links.iter_mut().flatten() {
                [link.rx_bytes_s, link.tx_bytes_s] = [numbers[0], numbers[1]];
                [link.rx_packets_s, link.tx_packets_s] = [numbers[2], numbers[3]];
            }
            for thread in observed.server_threads.iter_mut().flatten() {
                thread.run = numbers[4];
            }
            for quota in observed.server_quotas.iter_mut().flatten() {
                quota.throttled_periods = numbers[5];
            }
            for cpu in observed.cpus.iter_mut().flatten() {
                cpu.shares.idle = numbers[6];
            }
            (observed.softnet_s, observed.tcp_s) = (seconds, seconds);
            let names =
                ["Tcp.OutSegs", "Tcp.RetransSegs", "TcpExt.ListenDrops", "TcpExt.ListenOverflows"];
            let names = names.map(str::to_string);
            observed.tcp = Some(names.into_iter().zip(counts).collect());
            for whose in Whose::ALL {
                for value in seen(whose, &observed, &eth0()).figures().into_values() {
                    prop_assert!(value.is_finite());
                }
            }
        }
    }
}
