//! K5: the queue from which a CPU takes in packets overflows.
//!
//! Signals: drops in `/proc/net/softnet_stat` (RPS, veth, loopback and drivers without NAPI use
//! that queue), and segments sent again.
//! Rule: over 0.01 % of the packets taken in were dropped there in the window, and requests waited
//! for segments sent again, as many as were dropped at most, for a tenth of their time. The counter
//! is of the host: drops that cost the load nothing are those of other traffic.
//! Mimics: K8 and N2 (data is sent again without such drops), `flow_limit`, a burst of other
//! traffic.
//! Confirm: net.core.netdev_max_backlog four times as large ends the drops; if the rate stays, the
//! wall is the CPU that empties the queue (K4).
//! Source: Linux net/core/dev.c (enqueue_to_backlog), networking/scaling.rst.
//! Name: per-CPU backlog
//! Reason: a CPU's queue of received packets overflows
//! Fix: raise net.core.netdev_max_backlog fourfold, and see whether the rate follows

use super::loss::{self, WAITED_MIN};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::units::show_things;

/// Share of packets that may be dropped without effect.
const SHARE_MIN: f64 = 0.0001;

pub fn test(case: &Case<'_>) -> Test {
    let Some(softnet) = case.server_side().and_then(|server| server.softnet.as_ref()) else {
        return Test::Untested;
    };
    let Some((resent, _)) = loss::resent_by_both(case) else { return Test::Untested };
    let dropped: u64 = softnet.iter().map(|cpu| u64::from(cpu.dropped)).sum();
    let taken: u64 = softnet.iter().map(|cpu| cpu.processed).sum();
    let share = dropped as f64 / (taken + dropped).max(1) as f64;
    let Some(waited) = loss::waited_for(case, dropped.min(resent)) else { return Test::Untested };
    if share < SHARE_MIN || waited < WAITED_MIN {
        return Test::NotSeen;
    }
    let mut seen = Seen::default()
        .with(
            Family::HardCounter,
            case.server_host_name(),
            ("/proc/net/softnet_stat", ["softnet"]),
            "packets dropped because the queue of a CPU was full",
            format!("+{dropped}, {}", percent(share)),
            "over 0.01 %",
        )
        .with(
            Family::QueueLocation,
            "both",
            ("/proc/net/snmp", ["tcp"]),
            "segments sent again, and time of all requests that they cost at 200 ms each",
            format!("+{resent}, {}", percent(waited)),
            "over 10 %",
        );
    seen = seen.saying(format!(
        "a CPU's queue of received packets is full: {} dropped",
        show_things(dropped, "packet")
    ));
    if resent * 10 < dropped {
        seen.against.push(format!(
            "only {resent} segments were sent again: the drops may be other traffic"
        ));
    }
    Test::Seen(seen.next("spread receive work over more CPUs (RPS, RSS)"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.softnet(&[(50_000, 600), (50_000, 0)]);
            scene.fixture.loss(500, 0);
        },
        without: &[
            ("drops", |scene| scene.fixture.softnet(&[(50_000, 0), (50_000, 0)])),
            ("segments sent again", |scene| scene.fixture.loss(0, 0)),
            ("the CPUs' queues", |scene| scene.fixture.observed.softnet = None),
        ],
    };

    #[test]
    fn drops_of_the_backlog_with_repeats_are_seen() {
        let mut fixture = Fixture::good();
        fixture.softnet(&[(50_000, 600), (50_000, 0)]);
        fixture.loss(500, 20);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0));
        fixture.loss(20, 20);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "only SYNs: not the load's data");
        fixture.loss(30, 20);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "few: other traffic was dropped");
        fixture.loss(520, 20);
        fixture.softnet(&[(50_000, 6000), (50_000, 0)]);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.against[0].contains("other traffic"), "{seen:?}");
        fixture.softnet(&[(50_000, 3), (50_000, 0)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "hardly any");
    }

    #[test]
    fn without_counters_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.softnet(&[(1, 0)]);
        fixture.observed.tcp = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        fixture.loss(1, 0);
        fixture.observed.softnet = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
