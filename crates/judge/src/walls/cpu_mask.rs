//! S4: the server may use fewer CPUs than the host has; these are saturated while others are idle.
//!
//! Signals: CPUs the server's threads may use, and the busy shares of these and of the others.
//! Rule: as S1 on the CPUs it may use, while CPUs of the host that it may not use are idle for more
//! than half of the time. Runtimes derive worker counts from the affinity mask, so the server's own
//! settings do not show the restriction. Where other processes also use the CPUs of the server
//! (S6), what they use of the other CPUs counts as idle: S4 is what would limit without them.
//! Mimics: S2 when one CPU is allowed, S1 (no other CPU is idle).
//! Confirm: a wider mask raises the rate in proportion.
//! Source: sched_setaffinity(2), Linux admin-guide/cgroup-v1/cpusets.rst.
//! Name: server CPU affinity
//! Reason: the server may not use CPUs that are idle
//! Fix: let the server use more CPUs (taskset, cpuset, worker count)

use super::{Family, Test, neighbours};
use crate::case::{Case, Whose, percent};

pub fn test(case: &Case<'_>) -> Test {
    let (Some(cpus), Some(host)) = (case.server_cpus(), case.server_host) else {
        return Test::Untested;
    };
    let outside: Vec<_> =
        (host.cpus_online.iter().copied()).filter(|cpu| !cpus.contains(cpu)).collect();
    if outside.is_empty() {
        return Test::NotSeen;
    }
    let Some(busy_outside) = case.busy(Whose::Server, &outside) else { return Test::Untested };
    let others = neighbours::beside(case).and_then(|_| case.neighbours_outside(&outside));
    let busy_outside = (busy_outside - others.unwrap_or(0.0)).max(0.0);
    let mut seen = match super::server_cpu::full(case) {
        Test::Seen(seen) if busy_outside < 0.5 => seen,
        Test::Untested => return Test::Untested,
        _ => return Test::NotSeen,
    };
    seen = seen.with(
        Family::ThreadStates,
        "server",
        ("Cpus_allowed_list, /proc/stat", ["cpus"]),
        match others {
            Some(_) => {
                "CPUs it may use of those online; busy share of the rest, without neighbours"
            }
            None => "CPUs it may use of those online; busy share of the rest",
        },
        format!("{} of {}; {}", cpus.len(), host.cpus_online.len(), percent(busy_outside)),
        "fewer; under 50 %",
    );
    let (may, all) = (cpus.len(), host.cpus_online.len());
    let (are, busy) = (if may == 1 { "is" } else { "are" }, percent(busy_outside));
    let without = others.map_or("", |_| ", without other processes");
    Test::Seen(seen.saying(format!(
        "the server may use {may} of {all} CPUs, which {are} full; the rest is {busy} busy{without}"
    )))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
            scene.fixture.cpu(0, 0.99);
            scene.fixture.server_thread(0.95, 0.30);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("an idle CPU", |scene| scene.fixture.cpu(1, 0.9)),
            ("a mask", |scene| scene.fixture.server.as_mut().unwrap().cpus_allowed = vec![0, 1]),
            ("a busy CPU", |scene| scene.fixture.cpu(0, 0.6)),
            ("unread requests", |scene| scene.fixture.unread_at_server(0.0)),
        ],
    };

    #[test]
    fn a_full_mask_with_idle_cpus_elsewhere_is_seen() {
        let mut fixture = Fixture::good();
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.30);
        fixture.server_thread(0.95, 0.30);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.cpu(1, 0.90);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no idle CPU to widen to");
        fixture.cpu(1, 0.30);
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0, 1];
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no restriction");
    }

    #[test]
    fn neighbours_on_all_cpus_do_not_hide_a_mask() {
        let mut fixture = Fixture::good();
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        fixture.trial.cpus = vec![1];
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.90);
        fixture.server_thread(0.60, 0.39);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "it is busy with others");
        fixture.server_thread(0.95, 0.04);
        assert_eq!(
            super::test(&fixture.case()),
            Test::NotSeen,
            "none on its own CPU: a split host"
        );
    }
}
