//! The last second of both hosts, for the live view.
//!
//! In: readings as they arrive. Out: what each host does now, twice a second. Never: anything that
//! is judged or kept; without watchers nothing is remembered.

use judge::Context;
use judge::observe::Observed;
use model::facts::HostFacts;
use model::figure::Whose;
use model::host_now::HostNow;
use model::load::Trial;
use model::reading::{Data, Reading, Values};
use model::run::{Outcome, Target};
use std::collections::VecDeque;

/// The span that is shown, nanoseconds: the kernel counts the time of CPUs in hundredths of a
/// second.
const RECENT_NS: u64 = 1_000_000_000;
/// How often it is shown, nanoseconds.
const PACE_NS: u64 = 500_000_000;
/// Of a source that is read less often the last reads are kept: the fewest that make a rate.
const READS_MIN: usize = 2;

/// The last second of both hosts.
pub(crate) struct RecentHosts<'a> {
    trial: &'a Trial,
    host: HostFacts,
    target: Target,
    /// The sides whose hosts are read.
    sides: &'a [Whose],
    /// The readings of this host, and of the server's.
    pub(crate) near: Recent,
    pub(crate) far: Recent,
    told_ns: u64,
}

impl<'a> RecentHosts<'a> {
    pub(crate) fn new(
        trial: &'a Trial,
        host: &HostFacts,
        target: &Target,
        sides: &'a [Whose],
    ) -> Self {
        let (host, target) = (host.clone(), target.clone());
        let (near, far) = Default::default();
        Self { trial, host, target, sides, near, far, told_ns: 0 }
    }

    /// What the hosts did in the last second; nothing if that was told a moment ago.
    pub(crate) fn now(&mut self, now_ns: u64) -> Option<Vec<HostNow>> {
        if now_ns < self.told_ns + PACE_NS {
            return None;
        }
        self.told_ns = now_ns;
        let context = Context {
            trial: self.trial,
            host: &self.host,
            target: &self.target,
            outcome: Outcome::Complete,
            perturbations: &[],
            kernel: None,
        };
        let (near, far) = (self.near.readings(), self.far.readings());
        let observed = Observed::of_both(near, Some(far), &self.host, &self.target);
        Some(judge::hosts_now(context, &observed, self.sides))
    }
}

/// The readings of one host in the last second.
#[derive(Debug, Default)]
pub(crate) struct Recent(VecDeque<Reading>);

impl Recent {
    pub(crate) fn add(&mut self, arrived: &[Reading]) {
        self.0.extend(arrived.iter().filter(|reading| is_shown(&reading.data)).cloned());
        let latest_ns = self.0.back().map_or(0, |reading| reading.begin_ns);
        let oldest_ns = latest_ns.saturating_sub(RECENT_NS);
        let mut at = 0;
        while self.0.get(at).is_some_and(|reading| reading.begin_ns < oldest_ns) {
            let key = key(&self.0[at].data);
            let later = self.0.range(at + 1..).filter(|later| self::key(&later.data) == key);
            if later.take(READS_MIN).count() < READS_MIN {
                at += 1;
            } else {
                self.0.remove(at);
            }
        }
    }

    fn readings(&self) -> impl Iterator<Item = Reading> {
        self.0.iter().cloned()
    }
}

/// Whether a reading is of a source that is shown.
fn is_shown(data: &Data) -> bool {
    match data {
        Data::Inside(data) => is_shown(data),
        Data::Values(values) => values.source == Values::TCP,
        Data::Cpus(_)
        | Data::Softnet(_)
        | Data::Interrupts(_)
        | Data::Interfaces(_)
        | Data::Listeners(_) => true,
        _ => false,
    }
}

/// The source of a reading, and whether it is of the server's own network namespace.
fn key(data: &Data) -> (bool, &str) {
    match data {
        Data::Inside(data) => (true, data.source()),
        data => (false, data.source()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::{CpuTimes, Interrupt, Softnet};
    use model::units::NS_PER_MS;

    fn reading(tenth: u64, data: Data) -> Reading {
        let at_ns = tenth * 100 * NS_PER_MS;
        Reading { begin_ns: at_ns, end_ns: at_ns, data }
    }

    fn cpus(tenth: u64) -> Data {
        let one = |cpu| CpuTimes { cpu, user: tenth * 3, idle: tenth * 7, ..CpuTimes::default() };
        Data::Cpus(vec![one(0), one(1)])
    }

    fn interrupts(tenth: u64) -> Data {
        let irq = "24".to_string();
        let per_cpu = vec![tenth * 10];
        let device = "eth0-rx".to_string();
        Data::Interrupts(vec![Interrupt { irq, device, per_cpu, allowed: None }])
    }

    #[test]
    fn the_last_second_is_shown_and_of_a_slow_source_its_last_two_reads() {
        let mut recent = Recent::default();
        for tenth in 0..100 {
            recent.add(&[reading(tenth, cpus(tenth))]);
            if tenth % 20 == 0 {
                recent.add(&[reading(tenth, interrupts(tenth))]);
            }
            recent.add(&[reading(tenth, Data::Disks(Vec::new()))]);
        }
        let observed = Observed::of(recent.readings(), 10 * NS_PER_MS);
        let shares: Vec<f64> = observed.cpus.unwrap().iter().map(|cpu| cpu.busy()).collect();
        assert!(shares.iter().all(|busy| (busy - 0.3).abs() < 1e-9), "{shares:?}");
        assert_eq!(observed.interrupts.unwrap()[0].per_s, 100.0, "of two seconds");
        assert_eq!(recent.0.len(), 11 + 2, "and nothing else");
    }

    #[test]
    fn one_read_is_no_rate() {
        let mut recent = Recent::default();
        recent.add(&[reading(5, cpus(5)), reading(5, interrupts(5))]);
        assert_eq!(Observed::of(recent.readings(), 10 * NS_PER_MS), Observed::default());
    }

    #[test]
    fn a_source_inside_the_servers_namespace_is_a_source_of_its_own() {
        let softnet = |tenth| Data::Softnet(vec![Softnet { cpu: tenth, ..Softnet::default() }]);
        let mut recent = Recent::default();
        recent.add(&[reading(0, Data::Inside(Box::new(softnet(0))))]);
        (1..60).for_each(|tenth| recent.add(&[reading(u64::from(tenth), softnet(tenth))]));
        let inside = recent.0.iter().filter(|reading| matches!(reading.data, Data::Inside(_)));
        assert_eq!(inside.count(), 1, "its only read so far");
    }
}
