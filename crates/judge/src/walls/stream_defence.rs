//! A14: the server defends itself against resets of HTTP/2: it ends streams or connections of a
//! client that cancels many.
//!
//! Signals: connections that the server left and streams that it reset, by code; streams that we
//! cancelled because their requests took too long; requests that were lost with them.
//! Rule: it named ENHANCE_YOUR_CALM, or it left connections with another error while we cancelled
//! at least ten times as many streams; over 1 % of the requests were refused, aborted or lost with
//! their connection; and the server is not known to be busy.
//! Mimics: S1 and any wall that makes requests time out (they come first: without time-outs nothing
//! is cancelled), M4 (a server that fails).
//! Confirm: with a longer time-out (-T) nothing is cancelled, and no connection is lost.
//! Source: RFC 9113 sections 7 and 10.5; CVE-2023-44487; nghttp2 (1000 resets, then 33 per second),
//! Netty (200 in 30 s).
//! Name: server's defence
//! Reason: the server ends connections on which too many requests were cancelled
//! Fix: let requests take longer before they are cancelled (-T)

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::streams::{StreamCode, StreamInfo};
use model::tick::ErrorClass;

/// Share of the requests that must be lost.
const LOST_MIN: f64 = 0.01;
/// Cancelled streams per connection that is left with another error.
const CANCELS_MIN: u64 = 10;

pub fn test(case: &Case<'_>) -> Test {
    let point = case.point;
    let Some(streams) = &point.connections.streams else { return Test::NotSeen };
    let lost: u64 = [
        ErrorClass::Refused,
        ErrorClass::Aborted,
        ErrorClass::Closed,
        ErrorClass::Reset,
        ErrorClass::Unprocessed,
    ]
    .map(|class| case.errors(class))
    .iter()
    .sum();
    let share = lost as f64 / point.requests.sent.max(1) as f64;
    let (left, resets) = streams.with(StreamCode::EnhanceYourCalm);
    let others = left_otherwise(streams);
    let is_named = left + resets > 0;
    let is_after = others > 0 && streams.cancelled >= CANCELS_MIN * others;
    if !(is_named || is_after) || share < LOST_MIN || case.server_has_slack() == Some(false) {
        return Test::NotSeen;
    }
    let what = match is_named {
        true => format!("ENHANCE_YOUR_CALM: {left} connections, {resets} streams"),
        false => format!("{others} connections with an error"),
    };
    let seen = Seen::default().with(
        Family::HardCounter,
        "client",
        "engine",
        "what the server ended (GOAWAY, RST_STREAM)",
        what.clone(),
        "any ENHANCE_YOUR_CALM, or a tenth of the cancelled streams",
    );
    let mut seen = seen
        .with(
            Family::QueueLocation,
            "client",
            "engine",
            "streams that were cancelled, and requests that were lost otherwise",
            format!("{}; {lost}, {}", streams.cancelled, percent(share)),
            "over 1 % of the requests were lost",
        )
        .saying(format!(
            "the server ends what we cancel too often ({what}): {} of the requests were lost, \
             after {} had taken too long and were cancelled",
            percent(share),
            streams.cancelled
        ));
    if streams.cancelled == 0 {
        seen.against
            .push("nothing was cancelled, so it defends itself against something else".into());
    }
    let timeout_s = case.trial.timeout_ns as f64 / 1e9;
    Test::Seen(seen.next(format!("repeat with a longer time-out: -T {:.0}s", timeout_s * 10.0)))
}

/// Connections that it left with an error that does not say why.
fn left_otherwise(streams: &StreamInfo) -> u64 {
    [StreamCode::Protocol, StreamCode::Internal].map(|code| streams.with(code).0).iter().sum()
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.ended("ENHANCE_YOUR_CALM", 5, 500),
        without: &[
            ("lost requests", |scene| scene.fixture.error("closed", 40)),
            ("what the server said", |scene| scene.fixture.ended("NO_ERROR", 5, 500)),
            ("a server with slack", |scene| scene.fixture.server_thread(0.97, 0.0)),
            ("HTTP/2", |scene| scene.fixture.point.connections.streams = None),
        ],
    };

    #[test]
    fn a_server_that_calls_for_calm_is_seen() {
        let mut fixture = Fixture::good();
        fixture.ended("ENHANCE_YOUR_CALM", 5, 500);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0), "{seen:?}");
        fixture.ended("ENHANCE_YOUR_CALM", 5, 0);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.against.len(), 1, "nothing was cancelled");
        fixture.ended("PROTOCOL_ERROR", 5, 500);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "after many cancels");
        fixture.ended("PROTOCOL_ERROR", 5, 20);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "after few");
    }
}
