//! A3: the server waits for another service.
//!
//! Signals: the server's own connections to other services, and how many of them wait for a
//! response; requests that wait unread in its sockets.
//! Rule: both sides have CPU to spare, and the connections that wait for a response are over 70 %
//! of the requests that the server has read (and not over 150 %), on average over all reads.
//! Requests wait unread, or the rate no longer follows the load: a proxy under light load waits for
//! its service as well. Or, over a ramp whose rate no longer follows the load, several connections
//! to one service wait for over 90 % of the time (utilisation law: what limits is always in use),
//! and they are as many as the requests that the server works on at once (75 to 130 %): a fixed
//! number of connections, whatever waits for them inside the server.
//! Mimics: A2 (workers that wait for something else), A1 (threads that wait for a free connection),
//! a long poll or a subscription, which waits for ever without being a request.
//! Confirm: a route that does not call that service is faster; a slower service lowers the rate.
//! Source: Linux tcp(7), struct tcp_info (tcpi_last_data_sent, tcpi_last_data_recv).

use super::waiting::{ADDS_UP, QUEUE_MIN, Waiting};
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use crate::ramp::load_of;
use model::units::{show_count, show_ns};
use observe::DownstreamUse;

/// Share of the requests inside the server that the waiting connections must explain.
const EXPLAINED_MIN: f64 = 0.70;
/// More than this cannot be requests of the load.
const EXPLAINED_MAX: f64 = 1.50;
/// Share of the time from which connections that limit are in use.
const IN_USE_MIN: f64 = 0.90;
/// One connection that always waits may be a long poll.
const SEVERAL: f64 = 1.5;

pub fn test(case: &Case<'_>) -> Test {
    let waiting = match Waiting::of(case) {
        Ok(waiting) => waiting,
        Err(test) => return test,
    };
    if waiting.downstream.is_none() {
        return Test::Untested;
    }
    held(case, &waiting).map_or(Test::NotSeen, Test::Seen)
}

/// The requests that are at another service, whatever is busy.
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
    let seen = seen.next(format!("measure {to} itself, with its own server watched"));
    Some(seen.next("more connections to it help only if it has CPU to spare"))
}

/// Connections to one service that are all in use, while the load asks for more.
fn all_in_use(case: &Case<'_>) -> Option<Seen> {
    let (places, light) = case.places().filter(|_| case.still_grows() == Some(false))?;
    let is_full = |one: &&DownstreamUse| {
        let in_use = places / one.connections.max(f64::MIN_POSITIVE);
        one.connections >= SEVERAL
            && one.waiting >= IN_USE_MIN * one.connections
            && ADDS_UP.contains(&in_use)
    };
    let full = case.far().downstreams.iter().flatten().find(is_full)?;
    let DownstreamUse { to, connections, waiting } = full;
    let seen = Seen::default()
        .with(
            Family::QueueLocation,
            "server",
            ("sock_diag", ["downstreams"]),
            &format!("the server's connections to {to} that wait for a response"),
            format!("{waiting:.1} of {connections:.1}"),
            "over 90 %: all are in use",
        )
        .with(
            Family::RampShape,
            "client",
            ("ramp", ["rate"]),
            &format!(
                "requests the server works on at once: {}/s x {} at {} in flight",
                show_count(case.point.rate),
                show_ns(light.service_ns.mean.unwrap_or(0) as f64),
                load_of(light)
            ),
            format!("{places:.1}"),
            "as many as it has connections, however many requests there are",
        );
    let seen = seen.next(format!("give the server more connections to {to}: does the rate rise?"));
    Some(seen.next(format!("measure {to} itself, with its own server watched")))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use model::reading::Doing;
    use observe::DownstreamUse;

    fn proxy(waiting: f64) -> Fixture {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        let receiver = |tid| (tid, 0.01, Doing::Receive, None);
        fixture.doing(&[receiver(1), receiver(2)]);
        fixture.unread_at_server(0.75);
        let to = "10.0.0.9:5432".to_string();
        fixture.observed.downstreams = Some(vec![DownstreamUse { to, connections: 2.0, waiting }]);
        fixture
    }

    #[test]
    fn connections_that_wait_for_a_service_are_seen() {
        let Test::Seen(seen) = super::test(&proxy(1.9).case()) else { panic!("not seen") };
        assert!(seen.families() == 2 && seen.next[0].contains("10.0.0.9"), "{seen:?}");
        assert_eq!(super::test(&proxy(0.4).case()), Test::NotSeen, "A2: it responds at once");
        assert_eq!(super::test(&proxy(9.0).case()), Test::NotSeen, "long polls");
    }

    #[test]
    fn without_a_queue_more_load_may_still_help() {
        let mut fixture = proxy(7.8);
        fixture.unread_at_server(0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C3: who knows");
        let test = |rate| {
            let lighter = Fixture::point(4, rate);
            let ramp = [&lighter, &fixture.point];
            super::test(&crate::case::Case { ramp: &ramp, ..fixture.case() })
        };
        assert_eq!(test(510.0), Test::NotSeen, "it does help");
        assert!(matches!(test(990.0), Test::Seen(_)), "it does not");
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
        assert!(seen.families() == 2 && seen.next[0].contains("10.0.0.9"), "{seen:?}");
        assert_eq!(test(&fixture, 5_000_000, 990.0), Test::NotSeen, "five at once, and two calls");
        assert_eq!(test(&fixture, 2_000_000, 300.0), Test::NotSeen, "the rate follows the load");
        fixture.observed.downstreams.as_mut().unwrap()[0].connections = 4.0;
        assert_eq!(test(&fixture, 2_000_000, 990.0), Test::NotSeen, "two of four are free");
        assert_eq!(super::test(&proxy(0.4).case()), Test::NotSeen, "one level");
    }

    #[test]
    fn without_the_servers_connections_it_is_untested() {
        let mut fixture = proxy(1.9);
        fixture.observed.downstreams = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
