//! K8: the server's link is full, or a queueing discipline on its side lets no more bytes through.
//!
//! Signals: the counters and the backlog of the server's queueing disciplines; bytes on its links
//! against their speed; responses that wait in its sockets to be sent or acknowledged.
//! Rule: a discipline that carries the load's responses held packets back in the window, packets
//! waited in it in more than half of the reads or were dropped (over 0.1 %), and its packets are
//! larger than 300 bytes on average (under 500 speaks against it). Or bytes on the wire are over 90
//! % of a link's speed, if the driver reports a meaningful speed or the user stated it (`--link`),
//! and at least half of the load's responses pass such links. More than 105 % of a stated speed
//! refutes the statement, not the load.
//! Mimics: K9 (the same counters with small packets), N2 (drops of a shaper are retransmitted: the
//! loss is a symptom), C5 (the same on the generator's host), K12.
//! Confirm: responses half as long double the rate.
//! Source: Linux net/sched/sch_tbf.c, tc(8); Gregg, Systems Performance, chapter 10.
//! Name: server link bandwidth
//! Reason: the server's link is full
//! Fix: compress, use a faster link, or raise its queueing discipline's limit (tc qdisc show)

use super::shaping::{self, ShapedUnit, ShapedWay};
use super::{Seen, Test};
use crate::case::Case;

pub fn test(case: &Case<'_>) -> Test {
    let responses_bytes_s = case.point.bytes.received as f64 / case.window_s();
    let Some(server) = case.server_side() else { return unwatched(case, responses_bytes_s) };
    let links = case.server_links();
    if !shaping::was_read(&links, server) {
        return Test::Untested;
    }
    let host = case.server_host_name();
    let mut seen = match shaping::at_limit(case, server, responses_bytes_s) {
        Some(qdisc) if shaping::unit(qdisc) == ShapedUnit::Packets => return Test::NotSeen,
        Some(qdisc) => {
            let mut seen = shaping::held_back(qdisc, host);
            if shaping::unit(qdisc) == ShapedUnit::Unclear {
                seen.against.push("its packets are neither small nor large: K9?".to_string());
            }
            seen
        }
        None => match shaping::full_link(&links, ShapedWay::Out, host, responses_bytes_s) {
            Some(seen) => seen,
            None => return Test::NotSeen,
        },
    };
    seen = shaping::with_unsent(case, seen);
    seen_with_next_step(seen)
}

fn seen_with_next_step(seen: Seen) -> Test {
    Test::Seen(seen.next("request shorter responses: half the bytes, twice the rate"))
}

/// Without a probe there, a stated limit is compared with what arrives here.
fn unwatched(case: &Case<'_>, responses_bytes_s: f64) -> Test {
    let links = case.server_link_from_here();
    match shaping::full_link(&links, ShapedWay::In, "client", responses_bytes_s) {
        Some(seen) => seen_with_next_step(seen),
        // A discipline there, or a link that carries other traffic, cannot be seen from here.
        None => Test::Untested,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::facts::Nic;
    use model::link::LinkLimits;
    use observe::LinkUse;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.shaper(1200.0, 0.9),
        without: &[
            ("packets that wait", |scene| scene.fixture.shaper(1200.0, 0.1)),
            ("large packets", |scene| scene.fixture.shaper(150.0, 0.9)),
            ("our responses among them", |scene| {
                scene.fixture.observed.qdiscs.as_mut().unwrap()[0].bytes_s = 1000.0;
            }),
            ("disciplines", |scene| scene.fixture.observed.qdiscs = None),
        ],
    };

    #[test]
    fn a_shaper_full_of_large_packets_is_seen() {
        let mut fixture = Fixture::good();
        fixture.shaper(1200.0, 0.9);
        fixture.apart();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0), "{seen:?}");
        fixture.shaper(150.0, 0.9);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "K9: small packets");
        fixture.shaper(400.0, 0.9);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.against[0].contains("K9"), "{seen:?}");
    }

    #[test]
    fn a_shaper_that_is_rarely_met_full_is_not_the_limit() {
        let mut fixture = Fixture::good();
        fixture.shaper(1200.0, 0.2);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "bursts");
        fixture.shaper(1200.0, 0.9);
        for qdisc in fixture.far().qdiscs.iter_mut().flatten() {
            qdisc.bytes_s /= 100.0;
            qdisc.packets_s /= 100.0;
        }
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "our responses go another way");
    }

    fn nic(name: &str, speed_mbps: Option<u32>) -> Nic {
        Nic {
            name: name.to_string(),
            driver: None,
            mtu: None,
            speed_mbps,
            rx_queues: 1,
            tx_queues: 1,
            settings: Default::default(),
        }
    }

    #[test]
    fn a_link_counts_only_when_its_speed_means_something() {
        let mut fixture = Fixture::good();
        fixture.link("eth0", 120e6);
        assert_eq!(super::test(&fixture.case()), Test::Untested, "no speed, no discipline read");
        fixture.host.nics = vec![nic("eth0", Some(1000))];
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "96 %");
        fixture.host.nics = vec![nic("eth0", Some(10_000))];
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "10 %");
    }

    #[test]
    fn a_full_link_that_the_load_does_not_pass_is_not_the_limit() {
        let mut fixture = Fixture::good();
        fixture.link("eth0", 120e6);
        fixture.host.nics = vec![nic("eth0", Some(1000)), nic("eth1", Some(1000))];
        fixture.point.bytes.received = 5 * 300_000_000;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "most responses go another way");
        let first = fixture.far().links.as_ref().unwrap()[0].clone();
        let second = LinkUse { name: "eth1".to_string(), ..first };
        fixture.far().links.as_mut().unwrap().push(second);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "they use two full links");
    }

    #[test]
    fn a_stated_speed_that_is_refuted_does_not_hide_a_full_link() {
        let mut fixture = Fixture::good();
        fixture.link("eth1", 120e6);
        fixture.host.nics = vec![nic("eth1", Some(1000))];
        let stated = LinkLimits { bits_s: Some(1_000_000_000), ..LinkLimits::default() };
        fixture.trial.links.server = Some(stated);
        let first = LinkUse { name: "eth0".to_string(), tx_bytes_s: 140e6, ..LinkUse::default() };
        fixture.far().links.as_mut().unwrap().push(first);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.findings[0].evidence.source.contains("eth1"), "{seen:?}");
    }

    #[test]
    fn a_server_that_is_not_watched_leaves_it_untested() {
        let mut fixture = Fixture::good();
        fixture.shaper(1200.0, 0.9);
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested, "the shaper may be our own");
    }
}
