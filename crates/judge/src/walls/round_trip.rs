//! N1: a response takes little more than the round trip; only more requests at once raise the rate.
//!
//! It is a property of the load, not a wall: the verdict is "none, at least this rate".
//!
//! Signals: time to connect (done by the kernels, not by a program), shortest round trip of the
//! generator's sockets, latency.
//! Rule: the median time to connect is at least a millisecond and at least 80 % of the mean
//! response time, so is the shortest round trip if it was read, and both sides have CPU to spare.
//! The smoothed round trip would not do: a kernel that delays its acknowledgement until a response
//! is written (up to 40 ms) makes it as long as the server takes.
//! Mimics: C3 (the same without the round trip as the cause), K12 (several round trips per
//! response).
//! Confirm: twice the connections double the rate.
//! Source: Linux net/ipv4/tcp_input.c (tcp_rtt_estimator), RFC 1122 section 4.2.3.2.
//! Name: round trip
//! Reason: requests wait for the way to the server and back
//! Fix: send more requests at once (-c, -p)

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::units::show_ns;

/// Share of the response time that the round trip must be.
const SHARE_MIN: f64 = 0.80;
/// Below this, the way through both kernels is as long as the way between them.
const SHORTEST_NS: u64 = 1_000_000;

pub fn test(case: &Case<'_>) -> Test {
    let connect = &case.point.connections.connect_ns;
    // With few connections there is no median.
    let (Some(connect_ns), Some(mean_ns)) =
        (connect.p50.or(connect.mean), case.point.service_ns.mean)
    else {
        return Test::Untested;
    };
    let (Some(client_slack), Some(server_slack)) =
        (case.client_has_slack(), case.server_has_slack())
    else {
        return Test::Untested;
    };
    let rtt_us = case.census().and_then(|census| census.client_rtt_us());
    let rtt_ns = rtt_us.map_or(connect_ns as f64, |us| (us * 1e3).min(connect_ns as f64));
    let share = rtt_ns / mean_ns.max(1) as f64;
    if connect_ns < SHORTEST_NS || share < SHARE_MIN || !client_slack || !server_slack {
        return Test::NotSeen;
    }
    let seen = Seen::default().with(
        Family::QueueLocation,
        "client",
        ("connect(), sock_diag", ["latency_ns"]),
        &format!("round trip, of {} mean response time", show_ns(mean_ns as f64)),
        format!("{}, {}", show_ns(rtt_ns), percent(share)),
        "over 80 %: requests are on the way, not waiting",
    );
    let connections = case.point.load.connections;
    Test::Seen(seen.next(format!("send more requests at once: -c {}", u64::from(connections) * 2)))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.point.connections.connect_ns.p50 = Some(7_500_000),
        without: &[
            ("a distant server", |scene| {
                scene.fixture.point.connections.connect_ns.p50 = Some(50_000);
            }),
            ("its round trip in the sockets", |scene| {
                scene.fixture.round_trip(1);
            }),
            ("a watched server", |scene| scene.fixture.unwatched()),
        ],
    };

    fn distant() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.point.connections.connect_ns.p50 = Some(7_500_000);
        fixture
    }

    #[test]
    fn responses_as_long_as_the_round_trip_are_seen() {
        let mut fixture = distant();
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.point.connections.connect_ns.p50 = Some(4_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the server takes half of it");
    }

    #[test]
    fn a_round_trip_as_long_as_a_slow_server_takes_is_not_believed() {
        let mut fixture = Fixture::good();
        fixture.round_trip(8_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "connecting was fast");
        fixture.point.connections.connect_ns.p50 = Some(7_500_000);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.round_trip(1);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "only connecting was slow");
    }

    #[test]
    fn heat_on_a_side_is_not_it_and_an_unknown_side_leaves_it_untested() {
        let mut fixture = distant();
        fixture.server_thread(0.97, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
