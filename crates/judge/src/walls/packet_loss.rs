//! N2: packets are lost between the hosts, and connections wait for retransmissions.
//!
//! Signals: segments sent again on both hosts, drops at every place of both hosts where packets can
//! be dropped, responses that took as long as a retransmission.
//! Rule: more than 0.1 % of segments (and at least 10) were sent again, not counting SYNs, while
//! the queueing disciplines, interfaces, drivers, CPU backlogs and tracking tables of both hosts
//! dropped less than half as many (except netem, which imitates a path); both sides had CPU to
//! spare; and the slow end of the latency is as long as a retry takes (the counters are of the
//! whole namespace, and may count other traffic).
//! Mimics: K8, K9, C5 (a shaper drops on purpose), K5, K7, N4: with drops on a host it is one of
//! these; N5 (a box between the hosts that refuses).
//! Confirm: at a rate 20 % lower the loss vanishes (congestion) or stays (a faulty path).
//! Source: Linux networking/snmp_counter.rst, RFC 6298 (retransmission timer).
//! Name: loss or congestion window
//! Reason: packets are lost on the way
//! Fix: lower the rate (-R): loss that stays comes from the path

use super::loss::{self, SHORTEST_RETRY_NS};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::units::show_ns;

/// Share of segments sent again.
const SHARE_MIN: f64 = 0.001;
/// Fewer are chance.
const COUNT_MIN: u64 = 10;
/// Drops on the hosts, over segments sent again, that explain the loss. Hosts also drop packets
/// that are not part of the load, such as frames of unknown protocols.
const LOCATED_MIN: f64 = 0.5;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(server), Some(near)) = (case.server_side(), &case.observed.tcp) else {
        return Test::Untested;
    };
    let (Some(near), Some(far)) = (loss::resent(near), server.tcp.as_ref().and_then(loss::resent))
    else {
        return Test::Untested;
    };
    let (host, (resent, sent)) = if near.0 > far.0 { ("client", near) } else { ("server", far) };
    let share = resent as f64 / sent.max(1) as f64;
    let has_slack = case.client_has_slack() == Some(true) && case.server_has_slack() != Some(false);
    let mut hosts = vec![(case.server_host_name(), server)];
    // An unwatched server on loopback has the same readings as the generator.
    if case.observed.far.is_some() {
        hosts.push(("client", case.observed));
    }
    let places: Vec<_> = hosts.iter().flat_map(|(_, host)| loss::dropped_at(host)).collect();
    let dropped: u64 = places.iter().map(|(_, count)| count).sum();
    let is_located = dropped as f64 >= LOCATED_MIN * resent as f64;
    if resent < COUNT_MIN || share < SHARE_MIN || is_located || !has_slack {
        return Test::NotSeen;
    }
    let seen = Seen::default().with(
        Family::HardCounter,
        host,
        ("/proc/net/snmp", ["tcp"]),
        "segments sent again, without repeated SYNs",
        format!("{resent}, {} of those sent", percent(share)),
        "over 0.1 %, and less than half as many drops on the hosts",
    );
    // The counters are of the whole namespace: if no response waited, the loss is in other traffic.
    let Some(mut seen) = with_slow_responses(case, seen) else { return Test::NotSeen };
    for (host, observed) in hosts {
        for path in loss::imitated_paths(observed) {
            seen = seen.with(
                Family::HardCounter,
                host,
                (&format!("qdisc netem of {}", path.interface), ["qdiscs"]),
                "packets dropped, as on a lossy path",
                format!("+{}", path.drops),
                "any",
            );
        }
    }
    for (place, count) in places {
        seen.against.push(format!("{count} packets were dropped at {place}"));
    }
    if server.qdiscs.is_none() || case.observed.qdiscs.is_none() {
        let what = "the queueing disciplines of one host were not read: they may drop (K8)";
        seen.against.push(what.to_string());
    }
    seen = seen.saying(format!(
        "the path loses packets: {} of the segments were sent again",
        percent(share)
    ));
    let lower = case.point.rate * 0.8;
    Test::Seen(seen.fixed_by(format!(
        "lower the rate by 20 % (-R {lower:.0}): loss that stays comes from the path"
    )))
}

/// Adds the slow end of the latency; nothing if it is shorter than a retry takes.
fn with_slow_responses(case: &Case<'_>, seen: Seen) -> Option<Seen> {
    let service = &case.point.service_ns;
    let slow_ns = service.p99_9.or(service.max).unwrap_or(0);
    let median_ns = service.p50.unwrap_or(0);
    if slow_ns >= SHORTEST_RETRY_NS.max(median_ns * 3) {
        return Some(seen.with(
            Family::RampShape,
            "client",
            ("engine", ["latency_ns"]),
            "slow end of the response time, and the median",
            format!("{}, {}", show_ns(slow_ns as f64), show_ns(median_ns as f64)),
            "over 200 ms: as long as a retransmission takes",
        ));
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use observe::ConntrackUse;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.loss(60, 10);
            scene.fixture.point.service_ns.p99_9 = Some(212_000_000);
        },
        without: &[
            ("segments sent again", |scene| scene.fixture.loss(0, 0)),
            ("data among them", |scene| scene.fixture.loss(60, 60)),
            ("a loss without a place", |scene| scene.fixture.softnet(&[(50_000, 60)])),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    };

    fn lossy() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.loss(60, 10);
        fixture.observed.qdiscs = Some(Vec::new());
        fixture.point.service_ns.p99_9 = Some(212_000_000);
        fixture
    }

    #[test]
    fn loss_that_no_place_explains_is_seen() {
        let Test::Seen(seen) = super::test(&lossy().case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0));
        let mut fixture = lossy();
        fixture.loss(60, 55);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "SYNs");
        let mut fixture = lossy();
        fixture.tcp("TcpExt.TCPDSACKRecvSegs", 45);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the other side got them twice");
    }

    #[test]
    fn what_netem_drops_is_lost_on_the_path_that_it_imitates() {
        let mut fixture = lossy();
        fixture.shaper(100.0, 0.9);
        let qdisc = &mut fixture.observed.qdiscs.as_mut().unwrap()[0];
        (qdisc.drops, qdisc.kind) = (60, "netem".to_string());
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.findings.iter().any(|one| one.evidence.value.contains("+60")), "{seen:?}");
    }

    #[test]
    fn loss_with_a_place_is_another_wall() {
        let mut fixture = lossy();
        fixture.shaper(1200.0, 0.9);
        fixture.observed.qdiscs.as_mut().unwrap()[0].drops = 60;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "K8");
        let mut fixture = lossy();
        fixture.softnet(&[(50_000, 60)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "K5");
        let mut fixture = lossy();
        fixture.allowance("pps_allowance_exceeded", 60);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "N4");
        let mut fixture = lossy();
        fixture.softnet(&[(50_000, 20)]);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.against[0].contains("20 packets"), "too few to explain it: {seen:?}");
        let mut fixture = lossy();
        let (dropped, insert_failed) = (20, 20);
        let table = ConntrackUse { count: 9, max: 200, dropped, insert_failed, early_dropped: 0 };
        fixture.observed.conntrack = Some(table);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.against[0].contains("lost races"), "{seen:?}");
        let mut fixture = lossy();
        fixture.server_thread(0.97, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a hot server");
    }

    #[test]
    fn drops_on_the_host_of_both_count_once() {
        let mut fixture = lossy();
        fixture.server = None;
        fixture.softnet(&[(50_000, 20)]);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("20 of 60 segments") };
        assert_eq!(seen.against.len(), 1, "{seen:?}");
    }

    #[test]
    fn the_loss_of_one_side_alone_leaves_it_untested() {
        let mut fixture = lossy();
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
