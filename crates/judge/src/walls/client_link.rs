//! C5: the generator's link is full, or a queueing discipline on its side holds packets back.
//!
//! Signals: the counters and the backlog of the queueing disciplines on the generator's host
//! (including those of ifb, which shape incoming packets); bytes on its links against their speed.
//! Rule: a discipline there held packets back in the window, and packets waited in it in more than
//! half of the reads or were dropped (over 0.1 %); or bytes on the wire were over 90 % of a link's
//! speed, if the driver reports a meaningful speed or the user stated it (`--link`), and at least
//! half of the load's bytes that way pass such links. If both sides share one host, this wall is
//! called K8.
//! Mimics: K8 (the same on the server's host; looked at first), C6 (packets, not bytes), N3, a
//! generator whose CPUs cannot take in more (C1).
//! Confirm: shorter responses raise the rate as bytes fall; a second client host doubles it.
//! Source: Linux net/sched/sch_tbf.c, tc(8).
//! Name: client link bandwidth
//! Reason: the generator's link is full
//! Fix: use a second client host, or one with a faster link

use super::Test;
use super::shaping::{self, ShapedUnit, ShapedWay};
use crate::case::Case;

pub fn test(case: &Case<'_>) -> Test {
    if case.is_one_host() {
        return Test::NotSeen;
    }
    let links = case.client_links();
    if !shaping::was_read(&links, case.observed) {
        return Test::Untested;
    }
    let bytes_s = |bytes: u64| bytes as f64 / case.window_s();
    let requests_bytes_s = bytes_s(case.point.bytes.sent);
    let seen = match shaping::at_limit(case, case.observed, requests_bytes_s) {
        // The user states how many packets the link lets through, and that many pass: C6.
        Some(qdisc)
            if shaping::unit(qdisc) != ShapedUnit::Bytes
                && shaping::full_of_packets(&links, "client").is_some() =>
        {
            return Test::NotSeen;
        }
        Some(qdisc) => {
            let mut seen = shaping::held_back(qdisc, "client");
            if shaping::unit(qdisc) == ShapedUnit::Packets {
                seen.against.push("its packets are small: packets per second (C6)?".to_string());
            }
            seen
        }
        None => {
            let full = |way, ours_bytes_s| shaping::full_link(&links, way, "client", ours_bytes_s);
            let of_responses = full(ShapedWay::In, bytes_s(case.point.bytes.received));
            match of_responses.or_else(|| full(ShapedWay::Out, requests_bytes_s)) {
                Some(seen) => seen,
                None => return Test::NotSeen,
            }
        }
    };
    Test::Seen(
        seen.next("request shorter responses: a rate that rises as bytes fall proves the link"),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::link::LinkLimits;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.shaper(1200.0, 0.9);
            scene.fixture.apart();
            scene.fixture.far().qdiscs = Some(Vec::new());
        },
        without: &[
            ("packets that wait", |scene| {
                scene.fixture.observed.qdiscs.as_mut().unwrap()[0].waiting = 0.1;
            }),
            ("packets held back", |scene| {
                scene.fixture.observed.qdiscs.as_mut().unwrap()[0].overlimits = 0;
            }),
            ("disciplines", |scene| scene.fixture.observed.qdiscs = None),
            ("a host of its own", |scene| scene.fixture.observed.far = None),
        ],
    };

    #[test]
    fn a_shaper_on_the_generators_side_is_seen() {
        let mut fixture = Fixture::good();
        fixture.shaper(1200.0, 0.9);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "one host: K8");
        fixture.unwatched();
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.shaper(1200.0, 0.1);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn a_full_link_is_seen_if_the_load_passes_it() {
        let mut fixture = Fixture::good();
        fixture.unwatched();
        fixture.link("eth0", 120e6);
        let limits = LinkLimits { bits_s: Some(1_000_000_000), ..LinkLimits::default() };
        fixture.trial.links.client = Some(limits);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "96 %");
        fixture.point.bytes.sent = 5 * 300_000_000;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "most requests go another way");
    }

    #[test]
    fn packets_that_the_user_limits_are_c6() {
        let mut fixture = Fixture::good();
        fixture.unwatched();
        fixture.link("eth0", 3e6);
        fixture.shaper(150.0, 0.9);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.packets_limit(Some(20_000));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.shaper(1200.0, 0.9);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "large packets");
    }

    #[test]
    fn a_shaper_on_the_servers_side_is_not_ours() {
        let mut fixture = Fixture::good();
        fixture.shaper(1200.0, 0.9);
        fixture.apart();
        fixture.observed.qdiscs = Some(Vec::new());
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.observed.qdiscs = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
