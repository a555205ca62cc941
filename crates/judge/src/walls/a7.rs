//! A7: small writes wait for acknowledgements that the other side delays.
//!
//! Signals: latency that gathers at 40 ms (the shortest delay of an acknowledgement in Linux) or at
//! 200 ms (other systems), acknowledgements that the generator delayed.
//! Rule: both sides have CPU to spare, the median, p75, p90 or p95 of the time to answer lies
//! between 38 and 48 ms (or 195 and 215 ms, when nothing was sent again) and is over twice the
//! shortest, and the generator delayed an acknowledgement for more than 5 % of the answers. On one
//! host, where both sides' acknowledgements are counted together, also fewer than 20 % of the
//! requests may be held by threads that sleep for a time.
//! Mimics: a server that takes 40 ms (then it is the server that delays acknowledgements), N2 (a
//! segment is sent again after 200 ms), a timer of 40 ms in the application (A2).
//! Confirm: TCP_NODELAY in the server, or one write per answer, ends it.
//! Source: RFC 896 (Nagle), RFC 1122 section 4.2.3.2, Linux include/net/tcp.h (TCP_DELACK_MIN).

use super::{Family, Seen, Test, loss};
use crate::case::Case;
use model::reading::Doing;
use model::units::show_ns;

const MS_NS: u64 = 1_000_000;
/// Where latency gathers when each answer waits for one delayed acknowledgement.
const MODES_NS: [std::ops::RangeInclusive<u64>; 2] =
    [38 * MS_NS..=48 * MS_NS, 195 * MS_NS..=215 * MS_NS];
/// Acknowledgements the generator delayed, per answer.
const DELAYED_MIN: f64 = 0.05;
/// Share of the requests that sleeping threads may hold when both sides are counted together.
const ASLEEP_MAX: f64 = 0.20;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(delayed), Some(client_slack), Some(server_slack)) =
        (case.client_tcp("TcpExt.DelayedACKs"), case.client_has_slack(), case.server_has_slack())
    else {
        return Test::Untested;
    };
    let per_answer = delayed as f64 / case.point.requests.completed.max(1) as f64;
    let Some((name, at_ns)) = mode(case) else { return Test::NotSeen };
    if per_answer < DELAYED_MIN || !client_slack || !server_slack || sleeps(case) {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::RampShape,
            "client",
            "engine",
            &format!("time to answer at {name}, and at the least"),
            format!(
                "{}, {}",
                show_ns(at_ns as f64),
                show_ns(case.point.service_ns.min.unwrap_or(0) as f64)
            ),
            "38 to 48 ms or 195 to 215 ms, over twice the least",
        )
        .with(
            Family::HardCounter,
            "client",
            "/proc/net/netstat",
            "TcpExt.DelayedACKs per answer",
            format!("{per_answer:.2}"),
            "over 0.05",
        );
    Test::Seen(
        seen.next("set TCP_NODELAY in the server, or write each answer at once")
            .next("strace -e trace=network,write: are there two small writes per answer?"),
    )
}

/// The percentile at which latency gathers at a mode.
fn mode(case: &Case<'_>) -> Option<(&'static str, u64)> {
    let service = &case.point.service_ns;
    let percentiles =
        [("p50", service.p50), ("p75", service.p75), ("p90", service.p90), ("p95", service.p95)];
    let is_mode = |at_ns: u64| {
        let is_slow = MODES_NS[1].contains(&at_ns) && !is_resent(case);
        let is_far = service.min.is_some_and(|least_ns| at_ns > 2 * least_ns);
        is_far && (MODES_NS[0].contains(&at_ns) || is_slow)
    };
    percentiles.into_iter().find_map(|(name, at)| Some((name, at.filter(|at| is_mode(*at))?)))
}

fn is_resent(case: &Case<'_>) -> bool {
    loss::resent_by_both(case).is_none_or(|(resent, _)| resent > 0)
}

/// Whether, on one host, requests are held by threads that sleep, or nobody looked.
fn sleeps(case: &Case<'_>) -> bool {
    if !case.is_one_host() {
        return false;
    }
    let in_flight = case.point.in_flight.mean.unwrap_or(1.0);
    let asleep = case.far().doing.as_ref().map(|doing| doing.mean_threads(Doing::Timer));
    asleep.is_none_or(|asleep| asleep > ASLEEP_MAX * in_flight)
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use model::reading::Doing;

    fn stalled() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.point.service_ns.min = Some(300_000);
        fixture.point.service_ns.p50 = Some(41_000_000);
        fixture.tcp("TcpExt.DelayedACKs", 4_000);
        fixture.doing(&[(1, 0.1, Doing::Events, None)]);
        fixture
    }

    #[test]
    fn answers_after_a_delayed_acknowledgement_are_seen() {
        let mut fixture = stalled();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.tcp("TcpExt.DelayedACKs", 10);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a server that takes 40 ms");
        let mut fixture = stalled();
        fixture.point.service_ns.min = Some(40_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "all take 40 ms");
        let mut fixture = stalled();
        fixture.doing(&[(1, 0.1, Doing::Timer, None), (2, 0.1, Doing::Timer, None)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A2: a timer, on one host");
    }

    #[test]
    fn two_hundred_ms_are_a_stall_only_when_nothing_was_sent_again() {
        let mut fixture = stalled();
        fixture.point.service_ns.p50 = Some(1_000_000);
        fixture.point.service_ns.p90 = Some(204_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "not known");
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
