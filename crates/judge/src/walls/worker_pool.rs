//! A2: a fixed number of workers that each wait for something; further requests wait unread.
//!
//! Signals: what the server's threads sleep in, requests that wait unread in its sockets, over a
//! ramp the time a request takes at light load.
//! Rule: both sides have CPU to spare, at least 10 % of the requests in flight wait unread (25 %
//! without a ramp), and the threads that sleep for a time, in a read or in some other call are the
//! rest of them (adding up to 75 to 130 %). Over a ramp: they are as many as the rate keeps asleep
//! when each request sleeps as long as at light load.
//! Mimics: A4 (a limiter that lets requests wait sleeps alike; at light load it does not), A3 and
//! A6 (what the workers wait for is known then; looked at first), A1 (a lock), S3 (looked at
//! first), C3 (nothing waits unread).
//! Confirm: twice the workers double the rate. With k workers that each take s, the rate is k / s
//! and grows up to k requests in flight.
//! Source: Lazowska et al., Quantitative System Performance, chapter 5 (asymptotic bounds).

use super::Test;
use super::waiting::{QUEUE_MIN, Waiting, asleep_at_light_load};
use crate::case::Case;
use model::reading::Doing;

/// Less than this part of the sleepers is explained by the work of a request: A4.
pub(super) const EXPLAINED_MIN: f64 = 0.5;
/// More than this part of them: at the lightest load requests already waited.
const EXPLAINED_MAX: f64 = 1.5;

/// Share of the requests in flight that must wait unread where no lighter level is known.
const QUEUE_MIN_ALONE: f64 = 0.25;

pub fn test(case: &Case<'_>) -> Test {
    let waiting = match Waiting::of(case) {
        Ok(waiting) => waiting,
        Err(test) => return test,
    };
    let calls = [
        (Doing::Timer, "for a time"),
        (Doing::Receive, "in a read"),
        (Doing::Other, "in some other call"),
    ];
    let most = calls.map(|(doing, how)| (waiting.threads(doing), how));
    let (asleep, how) = most
        .into_iter()
        .reduce(|best, one| if one.0 > best.0 { one } else { best })
        .unwrap_or((0.0, ""));
    let light = asleep_at_light_load(case, asleep);
    // A few unread requests are also what samples see of a server that is quick to read.
    let queue_min = if light.is_some() { QUEUE_MIN } else { QUEUE_MIN_ALONE };
    if waiting.unread_share() < queue_min || asleep < 0.5 || !waiting.adds_up(asleep) {
        return Test::NotSeen;
    }
    let mut seen = waiting.seen(
        ("syscall", ["server_threads_now"]),
        &format!("threads asleep {how} on average"),
        asleep,
        "with the unread requests, all requests in flight",
    );
    match light {
        Some(explained) if explained < EXPLAINED_MIN => return Test::NotSeen,
        Some(explained) if explained <= EXPLAINED_MAX => {}
        _ => seen.against.push(
            "a limiter that queues requests (A4) looks the same at one load; a ramp separates them"
                .to_string(),
        ),
    }
    let (workers, each_ms) = (asleep.round().max(1.0), asleep / case.point.rate * 1e3);
    Test::Seen(seen.next(format!(
        "run more workers than {workers:.0}, or shorten the {each_ms:.1} ms each of them waits per \
         request"
    )))
}

#[cfg(test)]
mod tests {
    use crate::case::Case;
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use model::reading::Doing;

    /// Eight requests in flight, two workers asleep, six requests unread.
    fn pool() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        let sleeper = |tid| (tid, 0.01, Doing::Timer, None);
        fixture.doing(&[sleeper(1), sleeper(2), (3, 0.01, Doing::Events, None)]);
        fixture.unread_at_server(0.75);
        fixture
    }

    #[test]
    fn sleeping_workers_before_unread_requests_are_seen() {
        let mut fixture = pool();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.families() == 2 && seen.next[0].contains("than 2"), "{seen:?}");
        assert!(seen.against[0].contains("A4"), "{seen:?}");
        fixture.unread_at_server(0.3);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "half of them are elsewhere");
        fixture.unread_at_server(0.75);
        fixture.server_thread(0.97, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a hot server");
    }

    #[test]
    fn sleepers_for_every_request_are_no_pool() {
        let mut fixture = pool();
        let sleepers: Vec<_> = (1..=8).map(|tid| (tid, 0.01, Doing::Timer, None)).collect();
        fixture.doing(&sleepers);
        fixture.unread_at_server(0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "C3: nothing waits");
    }

    #[test]
    fn a_helper_that_never_runs_is_no_worker() {
        let mut fixture = pool();
        fixture.doing(&[(1, 0.0, Doing::Timer, None), (2, 0.0, Doing::Receive, None)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }

    #[test]
    fn a_ramp_tells_a_pool_from_a_limiter() {
        let fixture = pool();
        let test = |light_rate| {
            let light = Fixture::point(1, light_rate);
            let ramp = [&light, &fixture.point];
            super::test(&Case { ramp: &ramp, ..fixture.case() })
        };
        // Two workers and 1000 per second: 2 ms each, also for a single request.
        let Test::Seen(seen) = test(500.0) else { panic!("not seen") };
        assert_eq!(seen.against.len(), 0);
        assert_eq!(test(900.0), Test::Seen(seen), "1.1 ms: near enough");
    }

    #[test]
    fn sleep_that_only_comes_with_load_is_a_limiter() {
        let fixture = pool();
        let mut light = Fixture::point(1, 800.0);
        light.service_ns.mean = Some(400_000);
        let ramp = [&light, &fixture.point];
        assert_eq!(super::test(&Case { ramp: &ramp, ..fixture.case() }), Test::NotSeen);
    }

    #[test]
    fn without_sockets_or_threads_it_is_untested() {
        let mut fixture = pool();
        fixture.observed.census = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        let mut fixture = pool();
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
