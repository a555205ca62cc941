//! A10: the server's threads wait to write to a pipe, such as a log whose reader is too slow.
//!
//! Signals: what the server's threads sleep in, requests that wait unread.
//! Rule: both sides have CPU to spare, and the threads that wait to write to a pipe are over half
//! of the requests that the server has read, and together with the unread requests 75 to 130 % of
//! all requests in flight.
//! Mimics: A2 (workers that wait for something else), A6 (a log on a slow disk), A1 (one thread
//! writes, the others wait for the lock of the log).
//! Confirm: the server is faster without the log, or with a log that is read (cat >/dev/null).
//! Source: Linux pipe(7).
//! Name: logging or tracing
//! Reason: threads of the server wait to write their log
//! Fix: log less per request, or from a separate thread

use super::Test;
use super::waiting::Waiting;
use crate::case::Case;
use model::reading::Doing;

/// Share of the requests inside the server that must wait to write.
const HELD_MIN: f64 = 0.50;

pub fn test(case: &Case<'_>) -> Test {
    let waiting = match Waiting::of(case) {
        Ok(waiting) => waiting,
        Err(test) => return *test,
    };
    let held = waiting.threads(Doing::PipeWrite);
    let inside = (waiting.in_flight - waiting.unread).max(0.5);
    let holders = "threads that wait to write to a pipe";
    let seen = match waiting.all_places(case, held) {
        _ if held < 0.5 => return Test::NotSeen,
        _ if held >= HELD_MIN * inside && waiting.adds_up(held) => waiting.seen(
            ("syscall", ["server_threads_now"]),
            &format!("{holders} on average"),
            held,
            "with the unread requests, all requests in flight",
        ),
        Some(places) => waiting.with_places(holders, held, places),
        None => return Test::NotSeen,
    };
    let seen = seen.saying(format!(
        "{held:.1} threads of the server wait to write to a pipe, which its reader empties too \
         slowly"
    ));
    Test::Seen(seen.next("turn the log off, or read it faster, and see whether the rate rises"))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::{COMPUTING, READ, Signs, UNSEEN, two_of_eight};
    use model::reading::Doing;

    pub const SIGNS: Signs = Signs {
        shown: |scene| two_of_eight(scene, Doing::PipeWrite),
        without: &[READ, UNSEEN, COMPUTING],
    };

    fn logging(doing: Doing) -> Fixture {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        fixture.doing(&[(1, 0.01, doing, None), (2, 0.01, doing, None)]);
        fixture.unread_at_server(0.75);
        fixture
    }

    #[test]
    fn threads_that_wait_to_write_to_a_pipe_are_seen() {
        let mut fixture = logging(Doing::PipeWrite);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.unread_at_server(0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "most requests are elsewhere");
        let writing: Vec<_> = (1..=5).map(|tid| (tid, 0.01, Doing::PipeWrite, None)).collect();
        fixture.doing(&writing);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "three of eight are elsewhere");
        assert_eq!(super::test(&logging(Doing::Timer).case()), Test::NotSeen, "A2");
        fixture.observed.doing = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
