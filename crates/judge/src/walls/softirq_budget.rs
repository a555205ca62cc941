//! K6: the kernel ends its rounds of receiving early, runs threads instead, and a ring overflows
//! meanwhile.
//!
//! Signals: rounds that ended with work left (time_squeeze) and packets of each CPU, its shares of
//! time, and what shows a full ring (K7).
//! Rule: a ring of the server's host overflowed as K7 says; the CPU that took in most packets of
//! that host had no idle time (over 95 % busy), and spent less than 80 % of it in interrupts, so
//! that threads ran while packets waited; and most of its receive work was in rounds that were cut:
//! a round ends after netdev_budget packets or after netdev_budget_usecs, the counter does not tell
//! which, so the number of cut rounds times the one must be half of the packets, and times the
//! other half of the window. Rounds that end early alone limit nothing: the next one takes the
//! rest, at once where the CPU has time.
//! Mimics: K7 (bursts, with a CPU that has time), K4 (a CPU full of interrupts: a longer round
//! gains nothing), S1 (all CPUs are full; looked at first).
//! Confirm: twice the budget, or no threads on that CPU, ends the drops, and the rate rises.
//! Source: Linux net/core/dev.c (net_rx_action), admin-guide/sysctl/net.rst.
//! Name: softirq budget
//! Reason: the kernel stops taking in packets before all are taken, and runs threads instead
//! Fix: raise net.core.netdev_budget and netdev_budget_usecs, or keep threads from that CPU

use super::receive_cpu::{BUSY_MIN, SOFTIRQ_MIN};
use super::{Family, Test, nic_ring};
use crate::case::{Case, Whose, percent};
use model::units::show_things;
use observe::SoftnetUse;

/// Share of the packets, or of the time, in cut rounds from which these are the rule.
const MOST: f64 = 0.5;

/// How much a round of receiving may do.
struct Budget {
    packets: f64,
    time_s: f64,
}

impl Budget {
    fn of(case: &Case<'_>) -> Option<Self> {
        let sysctls = &case.server_host?.sysctls;
        let number = |name: &str| sysctls.get(name)?.trim().parse::<f64>().ok();
        let time_s = number("net.core.netdev_budget_usecs")? / 1e6;
        Some(Self { packets: number("net.core.netdev_budget")?, time_s })
    }

    /// Whether most of what a CPU took in, it took in rounds that were cut.
    fn cuts(&self, cpu: &SoftnetUse, window_s: f64) -> bool {
        let rounds = f64::from(cpu.squeezed);
        rounds * self.packets >= MOST * cpu.processed as f64
            && rounds * self.time_s >= MOST * window_s
    }
}

pub fn test(case: &Case<'_>) -> Test {
    let Some(server) = case.server_side() else { return Test::Untested };
    let (Some(budget), Some(softnet)) = (Budget::of(case), &server.softnet) else {
        return Test::Untested;
    };
    let Some(most) = softnet.iter().max_by_key(|cpu| cpu.processed) else { return Test::Untested };
    let Some(share) = case.cpus(Whose::Server, &[most.cpu]) else { return Test::Untested };
    let Some(dropped) = nic_ring::overflowed(case, server) else {
        return if nic_ring::test(case) == Test::Untested { Test::Untested } else { Test::NotSeen };
    };
    let interrupts = share[0].shares.softirq + share[0].shares.irq;
    let runs_threads = share[0].busy() >= BUSY_MIN && interrupts < SOFTIRQ_MIN;
    if !runs_threads || !budget.cuts(most, case.window_s()) {
        return Test::NotSeen;
    }
    let host = case.server_host_name();
    let seen = nic_ring::seen(host, &dropped)
        .with(
            Family::HardCounter,
            host,
            ("/proc/net/softnet_stat", ["softnet"]),
            &format!("rounds of CPU {} that ended with work left, of packets", most.cpu),
            format!("+{} of {}", most.squeezed, most.processed),
            "times the budget, half of its packets and half of the window",
        )
        .with(
            Family::ThreadStates,
            host,
            ("/proc/stat", ["cpus"]),
            &format!("busy and interrupt share of CPU {}", most.cpu),
            format!("{}, {}", percent(share[0].busy()), percent(interrupts)),
            "over 95 %, and under 80 %: it ran threads while packets waited",
        )
        .saying(format!(
            "CPU {} of the server's host stopped taking in packets {} with some left, and ran \
             threads while the ring of {} dropped {}",
            most.cpu,
            show_things(most.squeezed.into(), "time"),
            dropped.interface,
            show_things(dropped.packets, "packet")
        ));
    Test::Seen(seen.next("on the server's host: ceiling tune plan --only netdev-budget"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| squeeze(&mut scene.fixture),
        without: &[
            ("rounds that were cut", |scene| squeezed(&mut scene.fixture, 100)),
            ("drops of the ring", |scene| scene.fixture.allowance("rx_missed_errors", 0)),
            ("a CPU without idle time", |scene| scene.fixture.softirq(0, 0.4, 0.2)),
            ("threads on that CPU", |scene| scene.fixture.softirq(0, 0.9, 0.09)),
            ("the budget", |scene| scene.fixture.host.sysctls.clear()),
            ("counters", |scene| scene.fixture.observed.softnet = None),
        ],
    };

    fn squeezed(fixture: &mut Fixture, rounds: u32) {
        for cpu in fixture.observed.softnet.iter_mut().flatten().filter(|one| one.cpu == 0) {
            cpu.squeezed = rounds;
        }
    }

    fn squeeze(fixture: &mut Fixture) {
        let settings =
            [("net.core.netdev_budget", "300"), ("net.core.netdev_budget_usecs", "8000")];
        let settings = settings.map(|(name, value)| (name.to_string(), value.to_string()));
        fixture.host.sysctls.extend(settings);
        fixture.allowance("rx_missed_errors", 60);
        fixture.loss(60, 0);
        fixture.softnet(&[(150_000, 0), (5_000, 0)]);
        fixture.softirq(0, 0.4, 0.58);
        squeezed(fixture, 400);
    }

    /// Half of 150 000 packets are 250 rounds of 300, and half of 5 s are 313 rounds of 8 ms.
    #[test]
    fn most_rounds_must_be_cut_by_packets_and_by_time() {
        let mut fixture = Fixture::good();
        squeeze(&mut fixture);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 3, "{seen:?}");
        squeezed(&mut fixture, 312);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "not in most of the time");
        squeezed(&mut fixture, 313);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.softnet(&[(200_000, 0), (5_000, 0)]);
        squeezed(&mut fixture, 313);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "not most packets");
    }

    #[test]
    fn rounds_that_end_early_alone_limit_nothing() {
        let mut fixture = Fixture::good();
        squeeze(&mut fixture);
        fixture.allowance("rx_missed_errors", 0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.allowance("rx_crc_errors", 60);
        assert_eq!(super::test(&fixture.case()), Test::Untested, "no driver counts such drops");
    }
}
