//! K8: the server's link is full, or a queueing discipline on its side lets no more bytes through.
//!
//! Signals: the counters and the backlog of the server's queueing disciplines; bytes on its links
//! against their speed; responses that wait in its sockets to be sent or acknowledged.
//! Rule: a discipline that carries the load's responses held packets back in the window, packets
//! waited in it in more than half of the reads or were dropped (over 0.1 %), and its packets are
//! larger than 300 bytes on average (under 500 speaks against it). Or bytes on the wire are over 90
//! % of a link's speed, if the driver reports a meaningful speed or the user stated it (`--link`).
//! More than 105 % of a stated speed refutes the statement, not the load.
//! Mimics: K9 (the same counters with small packets), N2 (drops of a shaper are retransmitted: the
//! loss is a symptom), C5 (the same on the generator's host), K12.
//! Confirm: responses half as long double the rate.
//! Source: Linux net/sched/sch_tbf.c, tc(8); Gregg, Systems Performance, chapter 10.

use super::shaping::{self, ShapedUnit, ShapedWay};
use super::{Seen, Test};
use crate::case::Case;

pub fn test(case: &Case<'_>) -> Test {
    let Some(server) = case.server_side() else { return unwatched(case) };
    let links = case.server_links();
    if !shaping::was_read(&links, server) {
        return Test::Untested;
    }
    let responses_bytes_s = case.point.bytes.received as f64 / case.window_s();
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
        None => match shaping::full_link(&links, ShapedWay::Out, host) {
            Some(seen) => seen,
            None => return Test::NotSeen,
        },
    };
    seen = shaping::with_unsent(case, seen);
    told(seen)
}

fn told(seen: Seen) -> Test {
    Test::Seen(
        seen.next("request shorter responses: half the bytes, twice the rate").next(
            "raise the limit of that discipline (tc qdisc show), use a faster link, or compress",
        ),
    )
}

/// Without a probe there, a stated limit is compared with what arrives here.
fn unwatched(case: &Case<'_>) -> Test {
    let links = case.server_link_from_here();
    match shaping::full_link(&links, ShapedWay::In, "client") {
        Some(seen) => told(seen),
        // A discipline there, or a link that carries other traffic, cannot be seen from here.
        None => Test::Untested,
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use model::facts::Nic;

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

    #[test]
    fn a_link_counts_only_when_its_speed_means_something() {
        let mut fixture = Fixture::good();
        fixture.link("eth0", 120e6);
        assert_eq!(super::test(&fixture.case()), Test::Untested, "no speed, no discipline read");
        let nic = |speed_mbps| Nic {
            name: "eth0".to_string(),
            driver: None,
            mtu: None,
            speed_mbps,
            rx_queues: 1,
            tx_queues: 1,
            settings: Default::default(),
        };
        fixture.host.nics = vec![nic(Some(1000))];
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "96 %");
        fixture.host.nics = vec![nic(Some(10_000))];
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "10 %");
    }

    #[test]
    fn a_server_that_is_not_watched_leaves_it_untested() {
        let mut fixture = Fixture::good();
        fixture.shaper(1200.0, 0.9);
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested, "the shaper may be our own");
    }
}
