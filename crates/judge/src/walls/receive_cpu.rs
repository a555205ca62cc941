//! K4: one CPU of the server takes in the packets of all connections, and it is full.
//!
//! Signals: softirq share of each CPU, packets taken in by each CPU.
//! Rule: one CPU of the host is busy over 95 % of the time, over 80 % of it in softirq, and the
//! other CPUs spend less than half as much in softirq on average. Where kernel threads take in the
//! packets (threaded NAPI) and no CPU is full of softirq, it is not tested: the kernel counts the
//! time of these threads as system time.
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

const SOFTIRQ_MIN: f64 = 0.80;
const BUSY_MIN: f64 = 0.95;

pub fn test(case: &Case<'_>) -> Test {
    let is_threaded =
        |host: &HostFacts| host.nics.iter().any(|nic| nic.settings.threaded_napi == Some(true));
    match in_softirq(case) {
        Test::NotSeen if case.server_host.is_some_and(is_threaded) => Test::Untested,
        test => test,
    }
}

/// Whether one CPU is full of softirq.
fn in_softirq(case: &Case<'_>) -> Test {
    let Some(host) = case.server_host.filter(|_| case.server_side().is_some()) else {
        return Test::Untested;
    };
    let Some(cpus) = case.cpus(Whose::Server, &host.cpus_online) else { return Test::Untested };
    let softirq = |cpu: &observe::CpuShare| cpu.shares.softirq + cpu.shares.irq;
    let fullest = cpus.iter().max_by(|left, right| softirq(left).total_cmp(&softirq(right)));
    let Some(full) = fullest.filter(|_| cpus.len() > 1) else { return Test::NotSeen };
    let sum: f64 = cpus.iter().map(softirq).sum();
    let others = (sum - softirq(full)) / (cpus.len() - 1) as f64;
    if softirq(full) < SOFTIRQ_MIN || full.busy() < BUSY_MIN || others > softirq(full) / 2.0 {
        return Test::NotSeen;
    }
    let host = case.server_host_name();
    let mut seen = Seen::default().with(
        Family::ThreadStates,
        host,
        ("/proc/stat", ["cpus"]),
        &format!("interrupt share of CPU {}, and of the others", full.cpu),
        format!("{}, {}", percent(softirq(full)), percent(others)),
        "over 80 % on one CPU, under half of it on the others",
    );
    seen = seen.saying(format!(
        "CPU {} of the server's host spends {} of its time on packets; the others {}",
        full.cpu,
        percent(softirq(full)),
        percent(others)
    ));
    if let Some(share) = share_taken_in(case, full.cpu).filter(|share| *share >= 0.5) {
        seen = seen.with(
            Family::HardCounter,
            host,
            ("/proc/net/softnet_stat", ["softnet"]),
            &format!("packets of the host that CPU {} took in", full.cpu),
            percent(share),
            "over 50 %",
        );
    }
    if case.is_one_host() {
        seen.against
            .push("both sides share the host: the generator's packets count too".to_string());
    }
    Test::Seen(seen.next("use more connections, so that they spread over more queues"))
}

/// Share of the host's packets that one CPU took in.
fn share_taken_in(case: &Case<'_>, cpu: u32) -> Option<f64> {
    let softnet = case.far().softnet.as_ref()?;
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
