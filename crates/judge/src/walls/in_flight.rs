//! C3: the number of requests in flight is the limit; nothing else is near its own.
//!
//! In closed loop the rate is requests in flight over latency. While latency is the server's own
//! and nothing is busy, that is arithmetic, not a wall: the verdict is "none, at least this rate".
//!
//! Signals: requests in flight and places for them, what threads and CPUs of both sides did,
//! requests that wait unread.
//! Rule: all places are full; the generator's workers, the server's threads and the CPUs of both
//! have slack; and at most 10 % of the sampled server sockets hold unread requests.
//! Mimics: A2, a pool inside the server (whose places are full too, but requests wait unread and
//! latency grows with load); A4, a limiter that lets requests wait (a ramp tells).
//! Confirm: twice the connections double the rate.
//! Source: Little's law; Lazowska et al., Quantitative System Performance, chapter 3.
//! Name: client concurrency
//! Reason: every connection waits for a response, and nothing is busy
//! Fix: open more connections (-c)

use super::{Family, Seen, Test};
use crate::case::{Case, SLACK, Whose, percent};
use model::load::LoadModel;
use model::step::Step;

/// Share of the server's sockets with unread requests that two reads may find by chance.
const UNREAD_MAX: f64 = 0.10;

pub fn test(case: &Case<'_>) -> Test {
    let point = case.point;
    if point.load.model != LoadModel::Closed {
        return Test::NotSeen;
    }
    let (Some(client_slack), Some(server_slack)) =
        (case.client_has_slack(), case.server_has_slack())
    else {
        return Test::Untested;
    };
    let Some(in_flight) = point.in_flight.mean else { return Test::Untested };
    let full = in_flight / point.in_flight.limit.max(1) as f64;
    let busy = case.busy(Whose::Client, &case.client_cpus()).unwrap_or(0.0);
    let is_queue = case.unread_share().is_some_and(|share| share > UNREAD_MAX);
    if !client_slack || !server_slack || full < 0.9 || busy > 0.85 || is_queue {
        return Test::NotSeen;
    }
    let server = case.server_utilisation().unwrap_or(0.0);
    let worker = case.worker_load().unwrap_or(0.0);
    let seen = Seen::default()
        .with(
            Family::QueueLocation,
            "client",
            "engine",
            "places for requests in flight that were full",
            percent(full),
            "over 90 %",
        )
        .with(
            Family::ThreadStates,
            "server",
            ("schedstat", ["server_threads"]),
            "share of its CPUs that the server used",
            percent(server),
            &format!("under {}", percent(SLACK)),
        )
        .with(
            Family::ThreadStates,
            "client",
            case.worker_source(),
            "share of its time that the busiest worker had work",
            percent(worker),
            &format!("under {}", percent(SLACK)),
        );
    let connections = point.load.connections;
    let levels = format!("{connections}..{}", u64::from(connections) * 16);
    Test::Seen(seen.next(Step::command(["ramp", &case.trial.url, "-c", &levels])))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |_| {},
        without: &[
            ("full places", |scene| scene.fixture.point.in_flight.limit *= 2),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
            ("a generator with slack", |scene| scene.fixture.worker(0.9, 0.0)),
            ("requests that are read", |scene| scene.fixture.unread_at_server(0.5)),
            ("a watched server", |scene| scene.fixture.unwatched()),
        ],
    };

    #[test]
    fn slack_everywhere_is_seen_and_any_heat_is_not() {
        let mut fixture = Fixture::good();
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.worker(0.9, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a busy worker");
        fixture.worker(0.3, 0.0);
        fixture.server_thread(0.97, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a busy server");
        fixture.server_thread(0.3, 0.0);
        fixture.unread_at_server(0.5);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A2: requests wait");
    }

    #[test]
    fn an_unwatched_server_leaves_it_untested() {
        let mut fixture = Fixture::good();
        fixture.server = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
