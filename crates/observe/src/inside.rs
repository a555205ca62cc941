//! A server in a network namespace of its own: what was read there, and what belongs to its host.
//!
//! CPUs, control groups and threads belong to the host, wherever they are read. Interfaces,
//! counters and sockets belong to a namespace. Those of the server's namespace replace those of the
//! probe's, as if a probe inside had read them.

use crate::lost::Losses;
use crate::network::Drivers;
use crate::observed::Observed;
use model::facts::HostFacts;
use model::maps::IntoMap;
use model::reading::Reading;
use model::run::Target;
use model::tail::TailCause;
use std::collections::BTreeSet;

impl Observed {
    /// What both sides did in a window: readings of the generator's host, and of the server's host
    /// when a probe there was read.
    pub fn of_both(
        near: impl IntoIterator<Item = Reading>,
        far: Option<impl IntoIterator<Item = Reading>>,
        host: &HostFacts,
        target: &Target,
    ) -> Self {
        let near = Self::of(near, host.clock_tick_ns);
        let far = target.probe.as_ref().zip(far);
        let far = far.map(|(probe, readings)| Self::of(readings, probe.host.clock_tick_ns));
        near.beside(far, target)
    }

    /// Both sides together: the generator's host, and the server's when a probe there was read.
    pub(crate) fn beside(self, far: Option<Self>, target: &Target) -> Self {
        let mut observed = self;
        let is_inside = target.server.as_ref().is_some_and(|server| server.network.is_some());
        observed.far = match target.probe.as_ref().zip(far) {
            Some((probe, far)) => {
                let is_inside =
                    probe.server.as_ref().is_some_and(|server| server.network.is_some());
                Some(Box::new(if is_inside { far.with_inside() } else { far }))
            }
            None if is_inside => Some(Box::new(observed.seen_inside())),
            None => None,
        };
        // The cost of the second thread is part of the cost here.
        let inside_cpus = observed.inside.as_ref().and_then(|inside| inside.probe_cpus);
        observed.probe_cpus = observed.probe_cpus.map(|cpus| cpus + inside_cpus.unwrap_or(0.0));
        observed
    }

    /// This host as seen from the server's network namespace: what belongs to a namespace is the
    /// server's, and absent where it was not read there.
    fn seen_inside(&self) -> Self {
        let inside = self.inside.as_deref().cloned().unwrap_or_default();
        Self {
            cpus: self.cpus.clone(),
            server_threads: self.server_threads.clone(),
            server_quotas: self.server_quotas.clone(),
            pressure: self.pressure.clone(),
            server_files: self.server_files,
            softnet: self.softnet.clone(),
            softnet_s: self.softnet_s,
            interrupts: self.interrupts.clone(),
            clocks: self.clocks.clone(),
            doing: self.doing.clone(),
            server_ended_cpus: self.server_ended_cpus,
            server_cpus_series: self.server_cpus_series.clone(),
            disk_busy: self.disk_busy,
            memory: self.memory.clone(),
            server_bytes: self.server_bytes,
            runtime: self.runtime.clone(),
            lost: self.lost_inside(),
            probe_cpus: None,
            ..inside
        }
    }

    /// Retransmits are those of the server's namespace.
    fn lost_inside(&self) -> Losses {
        let mut lost = self.lost.clone();
        lost.remove(&TailCause::Resent);
        let inside = self.inside.iter().flat_map(|inside| inside.lost.clone());
        lost.extend(inside.filter(|(cause, _)| *cause == TailCause::Resent));
        lost
    }

    /// The server's host, read by a probe there that is not in the server's namespace: sockets and
    /// counters are those of the server's namespace, and devices and connection tracking tables are
    /// those of both, because packets pass through both.
    fn with_inside(self) -> Self {
        let (mut inside, outside) = (self.seen_inside(), self);
        let links = joined(outside.links, inside.links.take(), |link| &mut link.name);
        let qdiscs = joined(outside.qdiscs, inside.qdiscs.take(), |qdisc| &mut qdisc.interface);
        let row = |drivers: Option<Drivers>| drivers.map(Vec::from_iter);
        let drivers = (row(outside.drivers), row(inside.drivers.take()));
        let drivers = joined(drivers.0, drivers.1, |(interface, _)| interface);
        let probe_cpus = outside.probe_cpus.map(|cpus| {
            cpus + outside.inside.as_ref().and_then(|inside| inside.probe_cpus).unwrap_or(0.0)
        });
        let mut unreadable = outside.unreadable;
        unreadable.extend(inside.unreadable);
        Self {
            links,
            qdiscs,
            drivers: drivers.map(IntoMap::into_map),
            // Each namespace has a table: published ports need address translation, which is
            // tracked outside.
            conntrack: outside.conntrack,
            conntrack_inside: inside.conntrack,
            tuning: outside.tuning,
            inside: outside.inside,
            probe_cpus,
            unreadable,
            ..inside
        }
    }
}

/// The devices outside, then those inside, with a suffix where both have one of the same name.
/// Absent where neither was read.
fn joined<T>(
    outside: Option<Vec<T>>,
    inside: Option<Vec<T>>,
    name: impl Fn(&mut T) -> &mut String,
) -> Option<Vec<T>> {
    let Some(mut all) = outside else { return inside };
    let names: BTreeSet<String> = all.iter_mut().map(|one| name(one).clone()).collect();
    for mut one in inside.into_iter().flatten() {
        let own = name(&mut one);
        if names.contains(own) {
            own.push_str("@inside");
        }
        all.push(one);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::{Conntrack, CpuTimes, Data, Interface};

    fn link(name: &str, bytes: u64) -> Interface {
        Interface { name: name.to_string(), rx_bytes: bytes, ..Interface::default() }
    }

    /// One host and a namespace in it, read twice.
    fn readings() -> Vec<Reading> {
        let read = |second: u64, data| {
            let at_ns = second * 1_000_000_000;
            Reading { begin_ns: at_ns, end_ns: at_ns, data }
        };
        let tcp = |count| Data::values("tcp", [("Tcp.OutSegs".to_string(), count)]);
        let cpu = |idle| Data::Cpus(vec![CpuTimes { idle, ..CpuTimes::default() }]);
        let table = |count, dropped| {
            Data::Conntrack(Conntrack { count, max: 200, dropped, ..Conntrack::default() })
        };
        let both = |second, outer: u64, inner: u64| {
            let inside = |data| Data::Inside(Box::new(data));
            [
                read(second, cpu(second * 100)),
                read(second, tcp(outer)),
                read(second, Data::Interfaces(vec![link("eth0", outer)])),
                read(second, table(190, outer)),
                read(second, inside(tcp(inner))),
                read(second, inside(Data::Interfaces(vec![link("eth0", inner)]))),
                read(second, inside(table(0, 0))),
            ]
        };
        [both(1, 5, 50), both(2, 6, 90)].into_iter().flatten().collect()
    }

    fn segments(observed: &Observed) -> Option<u64> {
        observed.tcp.as_ref()?.get("Tcp.OutSegs").copied()
    }

    #[test]
    fn counters_of_a_namespace_are_not_those_of_its_host() {
        let observed = Observed::of(readings(), 10_000_000);
        assert_eq!(segments(&observed), Some(1));
        let seen = observed.seen_inside();
        assert_eq!((segments(&seen), seen.cpus.is_some()), (Some(40), true));
        assert_eq!(seen.links.unwrap().len(), 1);
    }

    #[test]
    fn what_was_not_read_inside_is_absent_and_not_that_of_the_host() {
        let is_outside = |reading: &Reading| !reading.data.opened().1;
        let outside = readings().into_iter().filter(is_outside);
        let seen = Observed::of(outside, 10_000_000).seen_inside();
        assert_eq!((segments(&seen), seen.links, seen.cpus.is_some()), (None, None, true));
    }

    #[test]
    fn a_far_probe_has_the_devices_of_both() {
        let seen = Observed::of(readings(), 10_000_000).with_inside();
        let names: Vec<_> = seen.links.iter().flatten().map(|link| link.name.as_str()).collect();
        assert_eq!(names, ["eth0", "eth0@inside"]);
        assert_eq!((segments(&seen), seen.qdiscs), (Some(40), None));
    }

    #[test]
    fn the_table_of_a_namespace_does_not_hide_that_of_its_host() {
        let tables = |seen: &Observed| -> Vec<(u64, u64)> {
            seen.conntracks().map(|table| (table.count, table.dropped)).collect()
        };
        let observed = Observed::of(readings(), 10_000_000);
        assert_eq!(tables(&observed), [(190, 1)]);
        assert_eq!(tables(&observed.seen_inside()), [(0, 0)], "the host's is that of the client");
        assert_eq!(tables(&observed.with_inside()), [(190, 1), (0, 0)]);
    }
}
