//! A8: the server closes connections after few requests, and each new connection costs a handshake.
//!
//! Signals: connections opened again per response, connections in the accept queue, time to
//! connect.
//! Rule: more than one connection was reopened per 100 responses although the load closes none and
//! none of these was given up for bytes that were no response or not asked for, both sides have CPU
//! to spare, and connecting takes the time: the accept queue holds on average more than 10 % as
//! many connections as there are requests in flight, or connecting takes over 10 % of the life of a
//! connection. There must be free places to serve: if all threads are at work, a pool of workers is
//! full (A2), or most requests are at another service, a connection waits for a place and not for
//! its handshake. An accept queue that is never seen empty says the same.
//! Connections that the server closed while a request was on its way have a time-out or a limit of
//! their own as the cause, which is reported with those requests; they are left out.
//! Mimics: A13 (a server of HTTP/2 that announces it), S1, S2 (handshakes make requests expensive;
//! then the CPU is the wall, and the verdict mentions this one), A2 (requests on connections that
//! are not accepted yet also wait unread), K1, K2, C7 (walls that short connections lead to; looked
//! at first), a server that fails and closes (M4).
//! Confirm: with keep-alive, or a higher limit of requests per connection, the rate rises.
//! Source: RFC 9112 section 9.3 (persistence); Linux tcp(7).
//! Name: connection churn
//! Reason: requests wait for new connections
//! Fix: let the server keep connections longer (keep-alive, limit of requests per connection)

use super::{Family, Seen, Test, downstream, renewal, worker_pool};
use crate::case::{Case, percent};
use model::units::show_ns;
use model::wall::WallId;

/// Connections reopened per response.
const REOPENED_MIN: f64 = 0.01;
/// Share of the requests, or of the time, that opening connections must take.
const COST_MIN: f64 = 0.10;
/// Share of its samples in which a thread without a moment to spare is at work.
const AT_WORK: f64 = 0.90;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(client_slack), Some(server_slack)) =
        (case.client_has_slack(), case.server_has_slack())
    else {
        return Test::Untested;
    };
    let Some(reopened) = closed_by_server(case) else { return Test::NotSeen };
    let in_flight = case.point.in_flight.mean.unwrap_or(0.0).max(1.0);
    let queued = case.far().listeners.map_or(0.0, |queue| queue.mean_queued);
    let in_queue = queued / in_flight;
    let opening = opening_share(case, reopened);
    // Accepting takes no time that a server with CPU to spare does not have: where it never empties
    // its queue, no place is free (A2).
    let is_emptied = case.never_accepted().is_none();
    let is_held_up = opening >= COST_MIN || in_queue >= COST_MIN && is_emptied;
    let is_full =
        all_at_work(case) || downstream::holds_most(case) || worker_pool::holds_requests(case);
    if !client_slack || !server_slack || !is_held_up || is_full {
        return Test::NotSeen;
    }
    let connect_ns = case.point.connections.connect_ns.p50.unwrap_or(0) as f64;
    let seen = Seen::default()
        .with(
            Family::HardCounter,
            "client",
            ("engine", ["latency_ns"]),
            "connections reopened per response",
            format!("{reopened:.3}"),
            "over 0.01, although the load closes none",
        )
        .with(
            Family::QueueLocation,
            "both",
            ("sock_diag, connect()", ["listeners"]),
            "mean connections in the accept queue; median time to connect, of a connection's time",
            format!("{queued:.1}; {}, {}", show_ns(connect_ns), percent(opening)),
            "over 10 % of the requests, or of the time",
        );
    Test::Seen(seen.saying(format!(
        "the server closes connections: {reopened:.2} were opened again for each response, and \
         that takes {} of the time",
        percent(in_queue.max(opening))
    )))
}

/// Connections reopened per response, if there are many and the load closes none.
fn closed_by_server(case: &Case<'_>) -> Option<f64> {
    let asked = case.life().is_some_and(|life| life.requests.is_some() || life.hold.is_some());
    let point = case.point;
    // The count is of the whole level, so the responses must be too.
    let responses = point.requests.completed + point.unmeasured.completed;
    // Those that we closed for what came on them are not the server's; those that it closed as a
    // request was on its way have a cause of their own.
    let ours: u64 = point.connections.faults.values().sum();
    let crossed = point.connections.crossed.as_ref().map_or(0, |crossed| crossed.connections);
    // Those of HTTP/2 that it announced to leave have a wall of their own (A13).
    let announced = renewal::left_in_order(point);
    let reopened = point.connections.reopened.saturating_sub(ours + crossed + announced);
    let reopened = reopened as f64 / responses.max(1) as f64;
    (!asked && reopened > REOPENED_MIN).then_some(reopened)
}

/// Part of a connection's time that passes before it is open.
fn opening_share(case: &Case<'_>, reopened: f64) -> f64 {
    let mean_ns = |summary: &model::histogram::Summary| summary.mean.unwrap_or(0) as f64;
    let opening_ns = mean_ns(&case.point.connections.connect_ns) * reopened;
    opening_ns / (opening_ns + mean_ns(&case.point.service_ns)).max(1.0)
}

/// Whether every thread that serves is nearly always at work.
fn all_at_work(case: &Case<'_>) -> bool {
    let far = case.far();
    let (Some(doing), Some(threads)) = (&far.doing, &far.server_threads) else { return false };
    let serving = threads.iter().filter(|thread| case.serves(thread));
    let mut at_work = serving.filter_map(|thread| doing.at_work(thread.tid)).peekable();
    at_work.peek().is_some() && at_work.all(|share| share >= AT_WORK)
}

/// A note for another wall that handshakes make worse.
pub(super) fn step(case: &Case<'_>) -> Option<&'static str> {
    closed_by_server(case).map(|_| WallId::A8.fix())
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;
    use model::load::Life;
    use model::reading::Doing;
    use model::run::Residence;
    use observe::{DownstreamUse, QueuePeak};

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.point.connections.reopened = 500;
            scene.fixture.observed.listeners = Some(QueuePeak {
                queued: 6,
                backlog: 128,
                mean_queued: 6.0,
                ..QueuePeak::default()
            });
        },
        without: &[
            ("connections opened again", |scene| scene.fixture.point.connections.reopened = 5),
            ("connections that wait", |scene| scene.fixture.observed.listeners = None),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
        ],
    };

    /// The server closes after ten responses; six connections wait to be accepted.
    fn capped() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.point.connections.reopened = fixture.point.requests.completed / 10;
        fixture.observed.listeners =
            Some(QueuePeak { queued: 6, backlog: 128, mean_queued: 6.0, ..QueuePeak::default() });
        fixture
    }

    #[test]
    fn connections_that_a_server_of_http2_announced_to_leave_are_not_these() {
        let mut fixture = capped();
        fixture.left(10, 20_000_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A13");
        fixture.point.connections.reopened *= 2;
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "half without a word");
    }

    #[test]
    fn connections_that_wait_to_be_opened_again_are_seen() {
        let mut fixture = capped();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.observed.listeners =
            Some(QueuePeak { queued: 6, backlog: 128, mean_queued: 0.1, ..QueuePeak::default() });
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "one instant is no queue");
        let queue = |empty_reads| QueuePeak {
            queued: 6,
            backlog: 128,
            mean_queued: 6.0,
            reads: 9,
            empty_reads,
        };
        fixture.observed.listeners = Some(queue(1));
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "it is emptied");
        fixture.observed.listeners = Some(queue(0));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A2: no place is free");
        fixture.observed.listeners = None;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "opening costs next to nothing");
        fixture.point.connections.connect_ns.mean = Some(20_000_000);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "slow to open");
        let sleeps = |tid, doing| (tid, 0.01, doing, None);
        fixture.doing(&[sleeps(1, Doing::Timer), sleeps(2, Doing::Futex)]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "one of two is free");
        fixture.doing(&[sleeps(1, Doing::Timer), sleeps(2, Doing::Receive)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A2: both are at work");
        fixture.doing(&[sleeps(1, Doing::Timer), sleeps(2, Doing::Timer), sleeps(3, Doing::Futex)]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "one of three is free");
        fixture.unread_at_server(0.75);
        let inside =
            |requests| Some(Residence { inside_server: Some(requests), ..Residence::default() });
        fixture.point.residence = inside(0.2);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "they sleep before accept");
        fixture.point.residence = inside(2.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A2: the others are no workers");
        fixture.server_thread(0.97, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S2, with a note about this");
    }

    #[test]
    fn connections_that_wait_while_most_requests_are_at_another_service_are_not_its_fault() {
        let mut fixture = capped();
        fixture.worker(0.05, 0.0);
        let waits = |tid| (tid, 0.01, Doing::Events, None);
        fixture.doing(&[waits(1), waits(2)]);
        let calls = |waiting| DownstreamUse {
            to: "10.0.0.9:80".to_string(),
            connections: 5.0,
            waiting,
            heard_ms: None,
        };
        fixture.observed.downstreams = Some(vec![calls(0.5)]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "hardly any");
        fixture.observed.downstreams = Some(vec![calls(5.0)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A3");
    }

    #[test]
    fn churn_that_was_asked_for_is_no_fault_of_the_server() {
        let mut fixture = capped();
        let life = Life { requests: Some((10, 10)), ..Life::default() };
        fixture.point.load.life = Some(life);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
        let mut fixture = capped();
        fixture.point.connections.reopened = 3;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "hardly any");
    }

    #[test]
    fn an_unwatched_server_leaves_it_untested() {
        let mut fixture = capped();
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
