//! A13: the server leaves connections of HTTP/2 in order (GOAWAY, NO_ERROR) after so many requests,
//! and requests wait for new ones.
//!
//! Signals: connections that the server left without an error, and requests on each; time to
//! connect, of the TLS handshake and to the server's settings; requests that waited for a
//! connection to be opened again.
//! Rule: connections that are opened again take over 10 % of the time of all of them, or in open
//! loop over 5 % of the planned requests waited for one; and both sides have CPU to spare.
//! Mimics: A8 (the server closes without a word), S1 and S2 (handshakes make requests expensive;
//! then the CPU is the wall), N1 (a long way alone).
//! Confirm: with a higher limit of requests per connection at the server the rate rises.
//! Source: RFC 9113 section 6.8 (GOAWAY); nginx keepalive_requests (1000 by default).
//! Name: connection renewal
//! Reason: requests wait for connections that the server leaves after so many requests
//! Fix: raise the server's limit of requests per connection (nginx: keepalive_requests)

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::histogram::Summary;
use model::run::Point;
use model::streams::StreamCode;
use model::units::{NS_PER_S, show_ns};

/// Share of the time of connections that opening them must take.
const COST_MIN: f64 = 0.10;
/// Share of the planned requests that must have waited for one.
const WAITED_MIN: f64 = 0.05;

pub fn test(case: &Case<'_>) -> Test {
    let point = case.point;
    let left = left_in_order(point);
    if left == 0 {
        return Test::NotSeen;
    }
    let (Some(client_slack), Some(server_slack)) =
        (case.client_has_slack(), case.server_has_slack())
    else {
        return Test::Untested;
    };
    let opening_ns = opening_ns(point);
    // Both counts are of the whole level.
    let responses = point.requests.completed + point.unmeasured.completed;
    let renewed_s = left as f64 / responses.max(1) as f64 * point.rate;
    let opening = renewed_s * opening_ns / NS_PER_S as f64;
    let share = opening / point.connections.opened.max(1) as f64;
    let planned = point.requests.planned.unwrap_or(0).max(1) as f64;
    let waited = point.requests.renewed as f64 / planned;
    let is_held_up = share >= COST_MIN || case.is_open() && waited >= WAITED_MIN;
    if !is_held_up || !client_slack || !server_slack {
        return Test::NotSeen;
    }
    let after = after(point);
    let seen = Seen::default()
        .with(
            Family::HardCounter,
            "client",
            "engine",
            "connections that the server left without an error (GOAWAY)",
            format!("{left}, each after {after} requests"),
            "any",
        )
        .with(
            Family::QueueLocation,
            "client",
            "engine",
            "connections that are being opened again; requests that waited for that",
            format!("{opening:.2}, {} of all; {}", percent(share), percent(waited)),
            "over 10 % of the connections, or 5 % of the planned requests",
        );
    let seen = seen.saying(format!(
        "the server leaves a connection after {after} requests, and a new one takes {} to open: \
         that is {} of the time",
        show_ns(opening_ns),
        percent(share)
    ));
    Test::Seen(
        seen.next("raise the server's limit of requests per connection: does the rate rise?"),
    )
}

/// Connections that the server left without an error.
pub(super) fn left_in_order(point: &Point) -> u64 {
    let streams = point.connections.streams.as_ref();
    streams.map_or(0, |streams| streams.with(StreamCode::NoError).0)
}

/// How long a connection takes until it can take a request: three parts, one behind the other.
fn opening_ns(point: &Point) -> f64 {
    let mean_ns = |summary: &Summary| summary.mean.unwrap_or(0) as f64;
    let shaking = point.connections.handshakes.handshake_ns.as_ref().map_or(0.0, mean_ns);
    let settings = point.connections.streams.as_ref().map(|streams| &streams.settings_ns);
    mean_ns(&point.connections.connect_ns) + shaking + settings.map_or(0.0, mean_ns)
}

/// Requests on the connections that it left.
fn after(point: &Point) -> String {
    let streams = point.connections.streams.as_ref();
    let span = streams.and_then(|streams| streams.left_after_min.zip(streams.left_after_max));
    match span {
        Some((least, most)) if least == most => least.to_string(),
        Some((least, most)) => format!("{least} to {most}"),
        None => "some".to_string(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::histogram::Summary;
    use model::load::LoadModel;

    pub const SIGNS: Signs = Signs {
        // Eight connections at 1000/s, of which each is left after ten requests: 100 are opened in
        // a second.
        shown: |scene| scene.fixture.left(10, 20_000_000),
        without: &[
            ("connections that are left", |scene| scene.fixture.left(10_000, 20_000_000)),
            ("a long time to open them", |scene| scene.fixture.left(10, 50_000)),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
            ("HTTP/2", |scene| scene.fixture.point.connections.streams = None),
        ],
    };

    #[test]
    fn connections_that_are_renewed_and_take_long_to_open_are_seen() {
        let mut fixture = Fixture::good();
        fixture.left(10, 20_000_000);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0), "{seen:?}");
        assert!(seen.sentence.unwrap().contains("after 10 requests"));
        fixture.left(1000, 20_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "0.25 % of the time");
        let streams = fixture.point.connections.streams.as_mut().unwrap();
        streams.settings_ns = Summary { mean: Some(1_000_000_000), ..Summary::default() };
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "a slow greeting");
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }

    #[test]
    fn planned_requests_that_wait_for_a_connection_are_seen() {
        let mut fixture = Fixture::good();
        fixture.left(1000, 50_000);
        fixture.point.load.model = LoadModel::Open;
        fixture.point.requests.planned = Some(5000);
        let mut test = |renewed| {
            fixture.point.requests.renewed = renewed;
            super::test(&fixture.case())
        };
        assert_eq!(test(100), Test::NotSeen);
        assert!(matches!(test(500), Test::Seen(_)));
    }
}
