//! K4: one CPU of the server takes in the packets of all connections, and it is full.
//!
//! Signals: softirq share of each CPU, packets taken in by each CPU.
//! Rule: one CPU of the host is busy over 95 % of the time, over 80 % of it in softirq, and the
//! other CPUs spend less than half as much in softirq on average. Where kernel threads take in the
//! packets (threaded NAPI) and no CPU is full of softirq, it is not tested: the kernel counts the
//! time of these threads as system time.
//! A CPU on which only the generator runs, under the kernel of a server in another network
//! namespace, takes in the generator's packets: that is C10.
//! Mimics: S2 (a thread that takes in packets itself is charged for it), S1 on a host with one CPU
//! (not tested there), one or few connections, whose packets belong to one queue.
//! Confirm: spread the work (RPS, more queues) or use more connections: the rate rises. If it does
//! not, this was not the wall.
//! Source: Linux networking/scaling.rst, networking/napi.rst,
//! admin-guide/kernel-per-CPU-kthreads.rst.
//! Name: receive softirq on one CPU
//! Reason: one CPU of the server takes in most packets
//! Fix: spread receive work over CPUs: more queues (ethtool -L), or RPS (rps_cpus)

use super::{Family, Seen, Test};
use crate::case::{Case, Whose, percent};
use model::facts::HostFacts;
use observe::{CpuShare, Observed};

pub(super) const SOFTIRQ_MIN: f64 = 0.80;
pub(super) const BUSY_MIN: f64 = 0.95;
/// Share of the host's packets that such a CPU takes in.
pub(super) const MOST: f64 = 0.5;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(host), Some(server)) = (case.server_host, case.server_side()) else {
        return Test::Untested;
    };
    let found = full_of_softirq(case, Whose::Server, host, server);
    let Found::Cpu(full) = found else { return found.test(host) };
    if is_the_generators(case, full.cpu) {
        return Test::NotSeen;
    }
    let mut seen = full.seen(case.server_host_name(), "the server's host");
    if case.is_one_host() {
        seen.against
            .push("both sides share the host: the generator's packets count too".to_string());
    }
    Test::Seen(seen.next("use more connections, so that they spread over more queues"))
}

/// Whether only the generator runs on a CPU of a kernel that it shares with a server in another
/// network namespace: the packets taken in there are its own (C10).
pub(super) fn is_the_generators(case: &Case<'_>, cpu: u32) -> bool {
    let of_server = case.server_cpus().unwrap_or_else(|| vec![cpu]);
    !case.is_one_host()
        && case.is_one_kernel()
        && case.client_cpus().contains(&cpu)
        && !of_server.contains(&cpu)
}

/// A CPU that is full of softirq, beside others that are not.
pub(super) struct FullCpu {
    pub(super) cpu: u32,
    /// Share of its time in interrupts.
    interrupts: f64,
    /// The mean share of the other CPUs.
    others: f64,
    /// Share of the host's packets that it took in.
    pub(super) taken_in: Option<f64>,
}

/// What the CPUs of a host show.
pub(super) enum Found {
    Cpu(FullCpu),
    NoSuchCpu,
    NotRead,
}

impl Found {
    /// The result where there is no such CPU. Kernel threads that take in packets hide it.
    pub(super) fn test(&self, host: &HostFacts) -> Test {
        let is_threaded = host.nics.iter().any(|nic| nic.settings.threaded_napi == Some(true));
        match self {
            Self::NotRead => Test::Untested,
            _ if is_threaded => Test::Untested,
            _ => Test::NotSeen,
        }
    }
}

/// The CPU of a host that is full of softirq.
pub(super) fn full_of_softirq(
    case: &Case<'_>,
    whose: Whose,
    host: &HostFacts,
    observed: &Observed,
) -> Found {
    let Some(cpus) = case.cpus(whose, &host.cpus_online) else { return Found::NotRead };
    let interrupts = |cpu: &CpuShare| cpu.shares.softirq + cpu.shares.irq;
    let fullest = cpus.iter().max_by(|left, right| interrupts(left).total_cmp(&interrupts(right)));
    let Some(full) = fullest.filter(|_| cpus.len() > 1) else { return Found::NoSuchCpu };
    let sum: f64 = cpus.iter().map(interrupts).sum();
    let others = (sum - interrupts(full)) / (cpus.len() - 1) as f64;
    let is_full = interrupts(full) >= SOFTIRQ_MIN && full.busy() >= BUSY_MIN;
    if !is_full || others > interrupts(full) / 2.0 {
        return Found::NoSuchCpu;
    }
    let (cpu, taken_in) = (full.cpu, share_taken_in(observed, full.cpu));
    Found::Cpu(FullCpu { cpu, interrupts: interrupts(full), others, taken_in })
}

impl FullCpu {
    /// The evidence; `host` as evidence names it, `place` in a sentence.
    pub(super) fn seen(&self, host: &str, place: &str) -> Seen {
        let (interrupts, others) = (percent(self.interrupts), percent(self.others));
        let seen = Seen::default()
            .with(
                Family::ThreadStates,
                host,
                ("/proc/stat", ["cpus"]),
                &format!("interrupt share of CPU {}, and of the others", self.cpu),
                format!("{interrupts}, {others}"),
                "over 80 % on one CPU, under half of it on the others",
            )
            .saying(format!(
                "CPU {} of {place} spends {interrupts} of its time on packets; the others {others}",
                self.cpu
            ));
        match self.taken_in.filter(|share| *share >= MOST) {
            Some(share) => seen.with(
                Family::HardCounter,
                host,
                ("/proc/net/softnet_stat", ["softnet"]),
                &format!("packets of the host that CPU {} took in", self.cpu),
                percent(share),
                "over 50 %",
            ),
            None => seen,
        }
    }
}

/// Share of the host's packets that one CPU took in.
fn share_taken_in(observed: &Observed, cpu: u32) -> Option<f64> {
    let softnet = observed.softnet.as_ref()?;
    let all: u64 = softnet.iter().map(|one| one.processed).sum();
    let one = softnet.iter().find(|one| one.cpu == cpu)?;
    (all > 0).then(|| one.processed as f64 / all as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::facts::{Nic, NicSettings};

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.softirq(0, 0.90, 0.08);
            scene.fixture.softnet(&[(90_000, 0), (5_000, 0)]);
        },
        without: &[
            ("a CPU full of interrupts", |scene| scene.fixture.softirq(0, 0.5, 0.08)),
            ("packets on one CPU", |scene| scene.fixture.softnet(&[(9_000, 0), (90_000, 0)])),
            ("shares of CPUs", |scene| scene.fixture.observed.cpus = None),
        ],
    };

    #[test]
    fn softirq_does_not_show_what_kernel_threads_take_in() {
        let mut fixture = Fixture::good();
        fixture.softirq(0, 0.10, 0.08);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        let settings = NicSettings { threaded_napi: Some(true), ..NicSettings::default() };
        let (name, driver, mtu, speed_mbps) = ("eth0".to_string(), None, None, None);
        let nic = Nic { name, driver, mtu, speed_mbps, rx_queues: 1, tx_queues: 1, settings };
        fixture.host.nics.push(nic);
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        fixture.softirq(0, 0.90, 0.08);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
    }

    #[test]
    fn one_cpu_full_of_softirq_is_seen() {
        let mut fixture = Fixture::good();
        fixture.softirq(0, 0.90, 0.08);
        fixture.softnet(&[(90_000, 0), (5_000, 0)]);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2, "{seen:?}");
        fixture.softirq(0, 0.50, 0.48);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S2: a hot thread as well");
        fixture.softirq(0, 0.85, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "not full");
        fixture.softirq(0, 0.90, 0.08);
        fixture.softirq(1, 0.60, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "spread already");
    }

    #[test]
    fn without_cpus_or_a_server_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.observed.cpus = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        let mut fixture = Fixture::good();
        fixture.softirq(0, 0.90, 0.08);
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
