//! A3: the server waits for another service.
//!
//! Signals: the server's own connections to other services, and how many of them wait for a
//! response; requests that wait unread in its sockets.
//! Rule: both sides have CPU to spare, and the connections that wait for a response are over 70 %
//! of the requests that the server has read (and not over 150 %), on average over all reads.
//! Requests wait unread, or the rate no longer follows the load: a proxy under light load also
//! waits for its service. Or, over a ramp whose rate no longer follows the load, all connections to
//! one service wait nearly all of the time (utilisation law: what limits is always in use), and the
//! server works on no more requests at once than these connections carry: as many as there are
//! connections (75 to 130 %), or fewer, or about two per connection if the ramp starts with no
//! more.
//! Only connections that serve the load count: those that wait received something within twice the
//! time of a turn, which is the time of a request at light load, or the number of connections over
//! the rate. A subscription, a long poll or a stream of log lines received nothing for longer.
//! Mimics: A2 (workers that wait for something else, and a pool of connections to a service that
//! could do more: more connections tell), A1 (threads that wait for a free connection).
//! Confirm: a route that does not call that service is faster; a slower service lowers the rate.
//! Source: Linux tcp(7), struct tcp_info (tcpi_last_data_sent, tcpi_last_data_recv).
//! Name: a downstream service
//! Reason: requests wait for another service
//! Fix: measure that service by itself, and watch its process

use super::waiting::{ADDS_UP, MOST, QUEUE_MIN, Waiting, serves};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::run::Point;
use model::units::{show_count, show_ns};
use observe::DownstreamUse;

/// Share of the requests inside the server that the waiting connections must explain.
const EXPLAINED_MIN: f64 = 0.70;
/// More than this cannot be requests of the load.
const EXPLAINED_MAX: f64 = 1.50;
/// Share of the time from which connections count as in use when they are as many as the requests
/// that the server works on: it needs a moment between two calls.
const IN_USE_MIN: f64 = 0.80;
/// Share of the time from which connections count as in use if their number alone does not show
/// that they limit.
const ALWAYS_IN_USE: f64 = 0.90;
/// Share of the time from which a single connection that carries all requests counts as in use:
/// between a response and the next request it does not show that other requests are under way.
const ONE_IN_USE: f64 = 0.65;
/// From this many connections on, their number is evidence.
const SEVERAL: f64 = 1.5;
/// Up to this many requests at once per connection, each request is mostly at the service.
const FEW_FOR_EACH: f64 = 2.0;

pub fn test(case: &Case<'_>) -> Test {
    let waiting = match Waiting::of(case) {
        Ok(waiting) => waiting,
        Err(test) => return *test,
    };
    if waiting.downstream.is_none() {
        return Test::Untested;
    }
    held(case, &waiting).map_or(Test::NotSeen, Test::Seen)
}

/// The requests that are at another service, whatever else is busy.
pub(super) fn held(case: &Case<'_>, waiting: &Waiting) -> Option<Seen> {
    let downstream = waiting.downstream?;
    let inside = waiting.in_flight - waiting.unread;
    let explained = downstream / inside.max(0.5);
    let is_limit = waiting.unread_share() >= QUEUE_MIN || case.still_grows() == Some(false);
    if !(EXPLAINED_MIN..=EXPLAINED_MAX).contains(&explained) || !is_limit {
        return all_in_use(case);
    }
    let busiest = case.far().downstreams.iter().flatten().next();
    let to = busiest.map_or("another service", |one| one.to.as_str());
    let seen = waiting
        .seen(
            ("sock_diag", ["downstreams"]),
            &format!("the server's connections to {to} that wait for a response"),
            downstream,
            "over 70 % of the requests it has read",
        )
        .with(
            Family::QueueLocation,
            "server",
            ("sock_diag", ["downstreams"]),
            "requests inside the server that wait for another service",
            percent(explained),
            "over 70 %",
        );
    let seen = seen.saying(format!(
        "{downstream:.1} of the {inside:.1} requests inside the server wait for {to}"
    ));
    let seen = seen.fixed_by(format!("measure {to} by itself, and watch its process"));
    Some(seen.next("more connections to it help only if it has CPU to spare"))
}

/// Whether most requests in flight are at another service.
pub(super) fn holds_most(case: &Case<'_>) -> bool {
    let waiting = Waiting::count(case);
    waiting.is_some_and(|all| all.downstream.unwrap_or(0.0) >= MOST * all.in_flight)
}

/// Whether the server works on no more requests at once than go over connections that are all in
/// use.
fn limits(one: &DownstreamUse, (places, light): (f64, &Point)) -> bool {
    let in_use = one.waiting / one.connections.max(f64::MIN_POSITIVE);
    let each = places / one.connections.max(f64::MIN_POSITIVE);
    let is_several = one.connections >= SEVERAL;
    let in_use_min = if is_several { ALWAYS_IN_USE } else { ONE_IN_USE };
    let is_known = one.heard_ms.is_some() && in_use >= in_use_min;
    let is_few = each <= FEW_FOR_EACH * ADDS_UP.end()
        && light.load_size() as f64 <= FEW_FOR_EACH * one.connections;
    match ADDS_UP.contains(&each) {
        true => is_several && in_use >= IN_USE_MIN || is_known,
        false => is_known && (is_few || is_several && each < *ADDS_UP.start()),
    }
}

/// Connections to one service that are all in use while the load offers more.
fn all_in_use(case: &Case<'_>) -> Option<Seen> {
    let (places, light) = case.places().filter(|_| case.still_grows() == Some(false))?;
    let is_full = |one: &&DownstreamUse| serves(case, one) && limits(one, (places, light));
    let full = case.far().downstreams.iter().flatten().find(is_full)?;
    let DownstreamUse { to, connections, waiting, .. } = full;
    let seen = Seen::default()
        .with(
            Family::QueueLocation,
            "server",
            ("sock_diag", ["downstreams"]),
            &format!("the server's connections to {to} that wait for a response"),
            format!("{waiting:.1} of {connections:.1}"),
            "nearly all of the time: all are in use",
        )
        .with(
            Family::RampShape,
            "client",
            ("ramp", ["rate"]),
            &format!(
                "requests the server works on at once: {}/s x {} at {} in flight",
                show_count(case.point.rate),
                show_ns(light.service_ns.mean.unwrap_or(0) as f64),
                light.load_size()
            ),
            format!("{places:.1}"),
            "no more than go over its connections, however many requests are in flight",
        );
    let seen = seen.saying(format!(
        "{waiting:.1} of {connections:.1} connections to {to} are always in use, and further \
         requests wait for one"
    ));
    let seen = seen.fixed_by(format!(
        "give the server more connections to {to}: if the rate rises, their number is the limit \
         (a pool, A2); if not, {to} is"
    ));
    Some(seen.next(format!("measure {to} by itself, and watch its process")))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::{READ, Signs, UNSEEN, two_of_eight};
    use model::reading::Doing;
    use observe::DownstreamUse;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            two_of_eight(scene, Doing::Receive);
            let (to, waiting) = ("10.0.0.9:5432".to_string(), 1.9);
            let one = DownstreamUse { to, connections: 2.0, waiting, heard_ms: None };
            scene.fixture.observed.downstreams = Some(vec![one]);
        },
        without: &[
            ("connections that wait", |scene| {
                scene.fixture.observed.downstreams.as_mut().unwrap()[0].waiting = 0.2;
            }),
            ("connections of the server", |scene| scene.fixture.observed.downstreams = None),
            READ,
            UNSEEN,
        ],
    };

    fn proxy(waiting: f64) -> Fixture {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        let receiver = |tid| (tid, 0.01, Doing::Receive, None);
        fixture.doing(&[receiver(1), receiver(2)]);
        fixture.unread_at_server(0.75);
        let to = "10.0.0.9:5432".to_string();
        let one = DownstreamUse { to, connections: 2.0, waiting, heard_ms: None };
        fixture.observed.downstreams = Some(vec![one]);
        fixture
    }

    #[test]
    fn connections_that_wait_for_a_service_are_seen() {
        let Test::Seen(seen) = super::test(&proxy(1.9).case()) else { panic!("not seen") };
        assert!(
            seen.families() == 2 && seen.fix.as_ref().unwrap().contains("10.0.0.9"),
            "{seen:?}"
        );
        assert_eq!(super::test(&proxy(0.4).case()), Test::NotSeen, "A2: it responds at once");
        assert_eq!(super::test(&proxy(9.0).case()), Test::NotSeen, "long polls");
    }

    #[test]
    fn without_a_queue_more_load_may_still_help() {
        let mut fixture = proxy(7.8);
        fixture.unread_at_server(0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C3: cannot tell");
        let test = |rate| {
            let lighter = Fixture::point(4, rate);
            let ramp = [&lighter, &fixture.point];
            super::test(&crate::case::Case { ramp: &ramp, ..fixture.case() })
        };
        assert_eq!(test(510.0), Test::NotSeen, "more load helps");
        assert!(matches!(test(990.0), Test::Seen(_)), "more load does not help");
    }

    #[test]
    fn connections_that_are_all_in_use_are_seen_over_a_ramp() {
        let mut fixture = proxy(1.9);
        fixture.unread_at_server(0.0);
        let test = |fixture: &Fixture, light_ns, rate| {
            let mut lighter = Fixture::point(2, rate);
            lighter.service_ns.mean = Some(light_ns);
            let ramp = [&lighter, &fixture.point];
            super::test(&crate::case::Case { ramp: &ramp, ..fixture.case() })
        };
        let Test::Seen(seen) = test(&fixture, 2_000_000, 990.0) else { panic!("not seen") };
        assert!(
            seen.families() == 2 && seen.fix.as_ref().unwrap().contains("10.0.0.9"),
            "{seen:?}"
        );
        assert_eq!(test(&fixture, 5_000_000, 990.0), Test::NotSeen, "five at once, and two calls");
        assert_eq!(test(&fixture, 2_000_000, 300.0), Test::NotSeen, "the rate follows the load");
        fixture.observed.downstreams.as_mut().unwrap()[0].connections = 4.0;
        assert_eq!(test(&fixture, 2_000_000, 990.0), Test::NotSeen, "two of four are free");
        assert_eq!(super::test(&proxy(0.4).case()), Test::NotSeen, "one level");
    }

    #[test]
    fn a_service_that_slows_down_or_is_asked_over_one_connection_is_seen() {
        let seen = |light: (u32, f64, u64), connections, waiting, heard_ms| {
            let mut fixture = proxy(waiting);
            fixture.unread_at_server(0.0);
            let one = &mut fixture.observed.downstreams.as_mut().unwrap()[0];
            (one.connections, one.heard_ms) = (connections, heard_ms);
            let mut lighter = Fixture::point(light.0, light.1);
            lighter.service_ns.mean = Some(light.2);
            let ramp = [&lighter, &fixture.point];
            let case = crate::case::Case { ramp: &ramp, ..fixture.case() };
            matches!(super::test(&case), Test::Seen(_))
        };
        let slower = (2, 900.0, 2_000_000);
        assert!(seen(slower, 4.0, 4.0, Some(4.0)), "a call takes twice as long as alone");
        assert!(!seen(slower, 4.0, 4.0, None), "what waits may wait for ever");
        assert!(!seen(slower, 4.0, 4.0, Some(5000.0)), "it waits for ever");
        assert!(!seen(slower, 4.0, 3.2, Some(4.0)), "some are free");
        let serial = (2, 990.0, 2_000_000);
        assert!(seen(serial, 1.0, 1.0, Some(1.0)), "one after the other");
        assert!(seen(serial, 1.0, 0.7, Some(1.0)), "with a moment in between");
        assert!(!seen(serial, 1.0, 0.5, Some(1.0)), "half of the time it is free");
        assert!(!seen(serial, 1.0, 1.0, Some(5000.0)), "a subscription");
        assert!(!seen((2, 600.0, 5_000_000), 1.0, 1.0, Some(1.0)), "five at once, over one");
    }

    #[test]
    fn without_the_servers_connections_it_is_untested() {
        let mut fixture = proxy(1.9);
        fixture.observed.downstreams = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
