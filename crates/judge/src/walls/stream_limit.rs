//! A11: the server allows fewer streams of HTTP/2 at once on a connection than the load has, and
//! requests wait for one.
//!
//! Signals: the limit that the server announced, connections that have as many streams, requests
//! that were due and waited for that; the shortest time of a request, and the same in the warm-up.
//! Rule: the limit is below the requests in flight per connection of the load (-p), on average at
//! least 80 % of the connections have as many streams as it allows, in open loop over 5 % of the
//! planned requests found no slot and most of those waited for a stream, and both sides have CPU to
//! spare. Requests do not wait inside the server: over a ramp one takes at most one and a half
//! times as long as at the lightest level, and the rate follows further connections; at one level
//! the fastest request does not take one and a half times as long as the fastest of the warm-up,
//! whose first requests find the server idle, and a tenth of the mean or more. By Little's law the
//! limit times the connections, over the duration of a request, is the rate.
//! Mimics: A1 to A4 (a queue inside the server, which a ramp of connections tells apart: there the
//! rate does not grow), S1 and S2 (a busy server with full connections; then the CPU is the wall).
//! Confirm: with twice the connections the rate doubles.
//! Source: RFC 9113 section 5.1.2 (stream concurrency); Little's law.
//! Name: stream limit
//! Reason: requests wait because the server allows too few streams at once on a connection
//! Fix: open more connections (-c), or raise the server's limit (SETTINGS_MAX_CONCURRENT_STREAMS)

use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::run::Point;
use model::step::Step;
use model::units::{NS_PER_S, show_ns};

/// Share of the connections that must be at the limit.
const FULL_MIN: f64 = 0.80;
/// Share of the requests that waited which must have waited for a stream.
const MOST: f64 = 0.5;
/// How much longer a request may take than one that does not wait inside the server.
const LONGER_MAX: f64 = 1.5;
/// Share of the mean that the fastest request takes at least where all of them wait.
const ALL_WAIT: f64 = 0.1;

pub fn test(case: &Case<'_>) -> Test {
    let point = case.point;
    let Some(streams) = &point.connections.streams else { return Test::NotSeen };
    let is_lower = |limit: &u64| *limit > 0 && *limit < u64::from(point.load.depth);
    let Some(limit) = streams.limit_max.filter(is_lower) else { return Test::NotSeen };
    let (Some(client_slack), Some(server_slack)) =
        (case.client_has_slack(), case.server_has_slack())
    else {
        return Test::Untested;
    };
    let connections = point.connections.opened.max(1) as f64;
    let full = streams.limited / connections;
    let is_wait = !case.is_open()
        || case.has_queue() && point.requests.limited as f64 >= MOST * point.requests.waited as f64;
    let mean_ns = point.service_ns.mean.unwrap_or(0).max(1);
    let light_ns = case.lightest().and_then(|light| light.service_ns.mean);
    let is_inside = waits_inside(case, mean_ns as f64, light_ns);
    if full < FULL_MIN || !is_wait || !client_slack || !server_slack || is_inside {
        return Test::NotSeen;
    }
    let seen = Seen::default()
        .with(
            Family::HardCounter,
            "client",
            "engine",
            &format!("connections with {limit} streams, as many as they may, of {connections:.0}"),
            percent(full),
            &format!("over 80 %, while the load has {} per connection", point.load.depth),
        )
        .with(
            Family::QueueLocation,
            "client",
            "engine",
            "limit x connections / mean time of a request, as requests per second",
            format!("{:.0}", limit as f64 * connections * NS_PER_S as f64 / mean_ns as f64),
            "by Little's law, the rate that the streams carry",
        );
    let each = show_ns(mean_ns as f64);
    let seen = seen.saying(format!(
        "the server allows {limit} streams at once on a connection, and {connections:.0} of them \
         carry {:.0}/s if each request takes {each}",
        point.rate
    ));
    let twice = (u64::from(point.load.connections) * 2).to_string();
    let depth = point.load.depth.to_string();
    let again = ["load", &case.trial.url, "-c", &twice, "-p", &depth];
    let mut seen = seen.next(Step::command(again));
    let idle_ns = light_ns.or(point.unmeasured.fastest_ns);
    if idle_ns.is_none_or(|idle_ns| mean_ns as f64 > LONGER_MAX * idle_ns as f64) {
        seen.against.push(
            "a queue inside the server looks the same at one load; if twice the connections do \
             not raise the rate, it is that"
                .to_string(),
        );
    }
    Test::Seen(seen)
}

/// Whether requests wait inside the server, so that further connections carry no more of them.
fn waits_inside(case: &Case<'_>, mean_ns: f64, light_ns: Option<u64>) -> bool {
    let point = case.point;
    let is_longer = light_ns.is_some_and(|light_ns| mean_ns > LONGER_MAX * light_ns as f64);
    let is_in_vain = case.ramp.iter().any(|heavier| {
        let of = |point: &Point| f64::from(point.load.connections.max(1));
        let load = of(heavier) / of(point);
        let rate = heavier.headline_rate() / point.headline_rate().max(f64::MIN_POSITIVE);
        load >= 2.0 && rate.ln() < load.ln() / 2.0
    });
    let fastest = point.unmeasured.fastest_ns.zip(point.service_ns.min);
    let is_all = fastest.is_some_and(|(idle_ns, least_ns)| {
        least_ns as f64 >= (LONGER_MAX * idle_ns as f64).max(ALL_WAIT * mean_ns)
    });
    is_longer || is_in_vain || is_all
}

#[cfg(test)]
pub(super) mod tests {
    use crate::case::Case;
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::load::LoadModel;

    pub const SIGNS: Signs = Signs {
        shown: |scene| scene.fixture.streams(8, 16, 8.0),
        without: &[
            ("a load of more streams", |scene| scene.fixture.streams(8, 8, 8.0)),
            ("connections at the limit", |scene| scene.fixture.streams(8, 16, 4.0)),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
            ("HTTP/2", |scene| scene.fixture.point.connections.streams = None),
        ],
    };

    #[test]
    fn connections_that_are_full_by_the_limit_of_the_server_are_seen() {
        let mut fixture = Fixture::good();
        fixture.streams(8, 16, 8.0);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 1), "one level leaves a doubt");
        fixture.point.unmeasured.fastest_ns = fixture.point.service_ns.mean;
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.against, [""; 0], "some take no longer than at an idle server");
        fixture.point.unmeasured.fastest_ns = Some(2_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "each waits inside the server");
        fixture.point.unmeasured.fastest_ns = None;
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }

    #[test]
    fn requests_that_take_longer_with_more_of_them_wait_inside_the_server() {
        let mut fixture = Fixture::good();
        fixture.streams(8, 16, 8.0);
        let over_a_ramp = |light_ns| {
            let mut light = Fixture::point(1, 400.0);
            light.service_ns.mean = Some(light_ns);
            let ramp = [&light, &fixture.point];
            super::test(&Case { ramp: &ramp, ..fixture.case() })
        };
        assert_eq!(over_a_ramp(2_000_000), Test::NotSeen, "four times as long");
        let Test::Seen(seen) = over_a_ramp(7_000_000) else { panic!("not seen") };
        assert_eq!(seen.against, [""; 0]);
        let mut light = Fixture { point: Fixture::point(4, 900.0), ..Fixture::good() };
        light.streams(8, 16, 4.0);
        let mut heavy = Fixture::point(8, 1000.0);
        heavy.load.depth = 16;
        let ramp = [&light.point, &heavy];
        assert_eq!(
            super::test(&Case { ramp: &ramp, ..light.case() }),
            Test::NotSeen,
            "twice the connections add a ninth"
        );
        heavy.rate = 1700.0;
        let ramp = [&light.point, &heavy];
        assert!(matches!(super::test(&Case { ramp: &ramp, ..light.case() }), Test::Seen(_)));
    }

    #[test]
    fn a_plan_that_is_met_does_not_wait_for_streams() {
        let mut fixture = Fixture::good();
        fixture.streams(8, 16, 8.0);
        fixture.point.load.model = LoadModel::Open;
        fixture.point.requests.planned = Some(5000);
        let mut test = |waited, limited| {
            (fixture.point.requests.waited, fixture.point.requests.limited) = (waited, limited);
            super::test(&fixture.case())
        };
        assert_eq!(test(200, 200), Test::NotSeen, "a few of them");
        assert!(matches!(test(2000, 2000), Test::Seen(_)));
        assert_eq!(test(2000, 500), Test::NotSeen, "most waited for a slot of the load");
    }
}
