//! A12: the server's windows of HTTP/2 are smaller than the bodies of requests, so each body waits
//! for them to open, at least a round trip each time.
//!
//! Signals: requests of which a part waits for a window of the server, the window that it gives a
//! stream, the bytes of a request.
//! Rule: on average at least half of the requests in flight wait so, something waits (in open loop
//! the plan is not met), and both sides have CPU to spare.
//! Mimics: A6 and A2 (a server that reads late opens its windows late: then a window takes much
//! longer than a round trip), N1 (one round trip per request), S1.
//! Confirm: with bodies below the window a request takes one round trip; with a larger window the
//! rate rises.
//! Source: RFC 9113 sections 5.2 and 6.9 (flow control).
//! Name: server's receive window
//! Reason: bodies of requests wait for the server's windows of HTTP/2
//! Fix: give streams and connections of the server a larger window (SETTINGS_INITIAL_WINDOW_SIZE)

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use crate::waits::{self, Waits};
use model::units::{show_bytes, show_ns};

/// Share of the requests in flight that must wait for a window.
const HELD_MIN: f64 = 0.5;
/// Round trips that a window takes to open, from which the server may read late.
const TRIPS_MAX: f64 = 3.0;
/// Below this, the way through both kernels and programs is longer than the way between them.
const SHORTEST_NS: f64 = 1e6;

pub fn test(case: &Case<'_>) -> Test {
    let point = case.point;
    let Some(streams) = &point.connections.streams else { return Test::NotSeen };
    let in_flight = point.in_flight.mean.unwrap_or(0.0);
    let share = streams.held / in_flight.max(f64::MIN_POSITIVE);
    if share < HELD_MIN || (case.is_open() && waits::of(case) == Waits::No) {
        return Test::NotSeen;
    }
    let (Some(client_slack), Some(server_slack)) =
        (case.client_has_slack(), case.server_has_slack())
    else {
        return Test::Untested;
    };
    if !client_slack || !server_slack {
        return Test::NotSeen;
    }
    let window = streams.window_min.max(1) as f64;
    let bytes = point.bytes.sent as f64 / point.requests.sent.max(1) as f64;
    let seen = Seen::default()
        .with(
            Family::HardCounter,
            "client",
            "engine",
            "requests of which a part waits for a window of the server, of those in flight",
            format!("{:.1} of {in_flight:.1}, {}", streams.held, percent(share)),
            "over 50 %",
        )
        .with(
            Family::QueueLocation,
            "client",
            "engine",
            "window of a stream; bytes of a request",
            format!("{}; {}", show_bytes(window), show_bytes(bytes)),
            "what does not fit waits until the server opens its windows",
        );
    let mut seen = seen.saying(format!(
        "{:.1} of {in_flight:.1} requests in flight wait for a window of the server: a stream may \
         send {} at once, and a request has {}",
        streams.held,
        show_bytes(window),
        show_bytes(bytes)
    ));
    let connect = &point.connections.connect_ns;
    let trip_ns = connect.p50.or(connect.mean).unwrap_or(0) as f64;
    let openings = (bytes / window).ceil() - 1.0;
    let each_ns = point.service_ns.mean.unwrap_or(0) as f64 * share / openings.max(1.0);
    if each_ns > TRIPS_MAX * trip_ns.max(SHORTEST_NS) {
        seen.against.push(format!(
            "a window takes {} to open, and a round trip {}: the server may read late",
            show_ns(each_ns),
            show_ns(trip_ns)
        ));
    }
    Test::Seen(seen.next(format!(
        "send a body below {}, or set a larger window at the server: does the rate rise?",
        show_bytes(window)
    )))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::load::LoadModel;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.held(7.0, 4_096),
        without: &[
            ("requests that wait", |scene| scene.fixture.held(2.0, 4_096)),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
            ("HTTP/2", |scene| scene.fixture.point.connections.streams = None),
        ],
    };

    #[test]
    fn bodies_that_wait_for_windows_are_seen() {
        let mut fixture = Fixture::good();
        fixture.held(7.0, 4_096);
        fixture.point.bytes.sent = fixture.point.requests.sent * 40_000;
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0), "{seen:?}");
        // Eight milliseconds for one opening, at 50 us from the server.
        fixture.point.bytes.sent = fixture.point.requests.sent * 5_000;
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.against[0].contains("may read late"), "{seen:?}");
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }

    #[test]
    fn bodies_of_a_plan_that_is_met_take_their_time_and_hold_nothing_up() {
        let mut fixture = Fixture::good();
        fixture.held(7.0, 4_096);
        fixture.point.load.model = LoadModel::Open;
        fixture.point.offered_rate = Some(fixture.point.rate);
        fixture.point.requests.planned = Some(fixture.point.requests.sent);
        fixture.point.cpu.responses = Some(fixture.point.requests.sent);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }
}
