//! A3: the server waits for another service.
//!
//! Signals: the server's own connections to other services, and how many of them wait for a
//! response; requests that wait unread in its sockets.
//! Rule: both sides have CPU to spare, and the connections that wait for a response are over 70 %
//! of the requests that the server has read (and not over 150 %), on average over all reads.
//! Requests wait unread, or the rate no longer follows the load: a proxy under light load waits for
//! its service as well.
//! Mimics: A2 (workers that wait for something else), A1 (threads that wait for a free connection),
//! a long poll or a subscription, which waits for ever without being a request.
//! Confirm: a route that does not call that service is faster; a slower service lowers the rate.
//! Source: Linux tcp(7), struct tcp_info (tcpi_last_data_sent, tcpi_last_data_recv).

use super::waiting::{QUEUE_MIN, Waiting};
use super::{Family, Test};
use crate::case::{Case, percent};

/// Share of the requests inside the server that the waiting connections must explain.
const EXPLAINED_MIN: f64 = 0.70;
/// More than this cannot be requests of the load.
const EXPLAINED_MAX: f64 = 1.50;

pub fn test(case: &Case<'_>) -> Test {
    let waiting = match Waiting::of(case) {
        Ok(waiting) => waiting,
        Err(test) => return test,
    };
    let Some(downstream) = waiting.downstream else { return Test::Untested };
    let inside = waiting.in_flight - waiting.unread;
    let explained = downstream / inside.max(0.5);
    let is_limit = waiting.unread_share() >= QUEUE_MIN || case.still_grows() == Some(false);
    if !(EXPLAINED_MIN..=EXPLAINED_MAX).contains(&explained) || !is_limit {
        return Test::NotSeen;
    }
    let busiest = case.far().downstreams.iter().flatten().next();
    let to = busiest.map_or("another service", |one| one.to.as_str());
    let seen = waiting
        .seen(
            "sock_diag",
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
    Test::Seen(
        seen.next(format!("measure {to} itself, with its own server watched"))
            .next("more connections to it help only if it has CPU to spare"),
    )
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
    fn without_the_servers_connections_it_is_untested() {
        let mut fixture = proxy(1.9);
        fixture.observed.downstreams = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
