//! A7: small writes wait for acknowledgements that the other side delays.
//!
//! Signals: latency that peaks at 40 ms (the shortest delay of an acknowledgement in Linux) or at
//! 200 ms (other systems), acknowledgements that the generator delayed, responses that wait in the
//! server's sockets.
//! Rule: both sides have CPU to spare; the median, p75, p90 or p95 of the response time is between
//! 38 and 48 ms (or between 195 and 215 ms, if nothing was sent again); acknowledgements were
//! delayed for at least half of these responses; and as many of the server's sampled sockets hold
//! bytes that TCP has not sent yet (bytes sent but not acknowledged are no evidence: a delayed
//! acknowledgement always leaves some). Without samples of sockets, both hosts must count their own
//! delayed acknowledgements.
//! Mimics: a server that takes 40 ms (then the server delays the acknowledgements, and its sockets
//! are empty; A2, A3), N2 (a segment is sent again after 200 ms).
//! Confirm: TCP_NODELAY in the server, or one write per response, ends it.
//! Source: RFC 896 (Nagle), RFC 1122 section 4.2.3.2, Linux include/net/tcp.h (TCP_DELACK_MIN).
//! Name: protocol stall
//! Reason: each response waits for a delayed acknowledgement (Nagle's algorithm)
//! Fix: set TCP_NODELAY in the server, or send each response in one write

use super::{Family, Seen, Test, loss};
use crate::case::Case;
use model::units::show_ns;

const MS_NS: u64 = 1_000_000;
/// Where latencies cluster when each response waits for one delayed acknowledgement.
const MODES_NS: [std::ops::RangeInclusive<u64>; 2] =
    [38 * MS_NS..=48 * MS_NS, 195 * MS_NS..=215 * MS_NS];
/// The other signs must reach this part of the share of responses at the mode.
const PART_MIN: f64 = 0.5;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(delayed), Some(client_slack), Some(server_slack)) =
        (case.client_tcp("TcpExt.DelayedACKs"), case.client_has_slack(), case.server_has_slack())
    else {
        return Test::Untested;
    };
    let per_response = delayed as f64 / case.point.requests.completed.max(1) as f64;
    let Some((name, at_ns, share)) = mode(case) else { return Test::NotSeen };
    let unsent = case.census().filter(|census| census.server > 0);
    let unsent = unsent.map(|census| census.server_held_back as f64 / census.server as f64);
    let is_stuck = unsent.map_or(!case.is_one_host(), |unsent| unsent >= PART_MIN * share);
    if per_response < PART_MIN * share || !client_slack || !server_slack || !is_stuck {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::RampShape,
            "client",
            ("engine", ["latency_ns"]),
            &format!("response time at {name}"),
            show_ns(at_ns as f64),
            "38 to 48 ms, or 195 to 215 ms",
        )
        .with(
            Family::HardCounter,
            "client",
            "/proc/net/netstat",
            "TcpExt.DelayedACKs per response",
            format!("{per_response:.2}"),
            &format!("over {:.2}", PART_MIN * share),
        );
    let seen = seen.saying(format!(
        "{name} is {}: each such response waits for an acknowledgement that the other side delays",
        show_ns(at_ns as f64)
    ));
    let seen = super::shaping::with_unsent(case, seen);
    Test::Seen(seen.next("strace -e trace=network,write: are there two small writes per response?"))
}

/// The percentile at which latencies cluster at a mode, and the share of responses from there on.
fn mode(case: &Case<'_>) -> Option<(&'static str, u64, f64)> {
    let service = &case.point.service_ns;
    let percentiles = [
        ("p50", service.p50, 0.50),
        ("p75", service.p75, 0.25),
        ("p90", service.p90, 0.10),
        ("p95", service.p95, 0.05),
    ];
    let is_mode = |at_ns: u64| {
        MODES_NS[0].contains(&at_ns) || (MODES_NS[1].contains(&at_ns) && !resent(case))
    };
    percentiles.into_iter().find_map(|(name, at, share)| {
        let at_ns = at.filter(|at_ns| is_mode(*at_ns))?;
        Some((name, at_ns, share))
    })
}

/// Whether data was sent again. True also if no probe counted.
fn resent(case: &Case<'_>) -> bool {
    loss::resent_by_both(case).is_none_or(|(resent, _)| resent > 0)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.point.service_ns.p50 = Some(41_000_000);
            scene.fixture.tcp("TcpExt.DelayedACKs", 4_000);
            scene.fixture.unsent_at_server(0.8);
        },
        without: &[
            ("responses that take 40 ms", |scene| {
                scene.fixture.point.service_ns.p50 = Some(8_000_000);
            }),
            ("delayed acknowledgements", |scene| scene.fixture.tcp("TcpExt.DelayedACKs", 10)),
            ("responses in the sockets", |scene| scene.fixture.unsent_at_server(0.0)),
            ("counters", |scene| scene.fixture.observed.tcp = None),
        ],
    };

    fn stalled() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.point.service_ns.p50 = Some(41_000_000);
        fixture.tcp("TcpExt.DelayedACKs", 4_000);
        fixture.unsent_at_server(0.8);
        fixture
    }

    #[test]
    fn responses_after_a_delayed_acknowledgement_are_seen() {
        let mut fixture = stalled();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 3);
        fixture.tcp("TcpExt.DelayedACKs", 900);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a few of half the responses");
        let mut fixture = stalled();
        fixture.unsent_at_server(0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a server that takes 40 ms");
        fixture.observed.census = None;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "whose acknowledgements?");
        fixture.apart();
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "the generator's");
    }

    #[test]
    fn two_hundred_ms_are_a_stall_only_when_nothing_was_sent_again() {
        let mut fixture = stalled();
        fixture.point.service_ns.p50 = Some(1_000_000);
        fixture.point.service_ns.p90 = Some(204_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no probe counted");
        fixture.loss(0, 0);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.loss(50, 0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "N2");
    }

    #[test]
    fn without_the_counter_it_is_untested() {
        let mut fixture = stalled();
        fixture.observed.tcp = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
