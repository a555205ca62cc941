//! A6: the server's threads wait for storage.
//!
//! Signals: what the server's threads sleep in (state D, fsync and the like), how long the busiest
//! disk was in use, pressure stall time for I/O.
//! Rule: both sides have CPU to spare, the threads that wait for storage are over half of the
//! requests that the server has read (and together with the unread requests 75 to 130 % of all in
//! flight), and the busiest disk was in use, or something stalled for I/O, for more than 10 % of
//! the window. Or a thread waits for storage in at least 90 % of the samples, and all other threads
//! that hold requests sleep on a futex or for a time: one is at the storage, the others wait for
//! their turn. Over a ramp, a runtime that reads all requests at once keeps them in its memory: the
//! threads that wait for storage are then 75 to 130 % of the requests that the server works on at
//! once, as the rate and the duration at light load say.
//! Mimics: A2 (workers that wait for something else), A9 (reclaim reads from storage), a neighbour
//! that uses the disk, a thread that writes all the time and serves no request.
//! Confirm: a route that does not write, or a file on tmpfs, is faster.
//! Source: Linux accounting/psi.rst, admin-guide/iostats.rst.
//! Name: storage
//! Reason: requests wait for storage
//! Fix: write less often to the disk: group commits, or no fsync per request

use super::waiting::Waiting;
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use model::reading::Doing;

/// Share of the requests inside the server that must wait for storage.
const HELD_MIN: f64 = 0.50;
/// Share of the window in which storage must be in use.
const USED_MIN: f64 = 0.10;
/// Mean number of threads waiting for storage from which nearly always one waits.
const ALWAYS: f64 = 0.90;

pub fn test(case: &Case<'_>) -> Test {
    let waiting = match Waiting::of(case) {
        Ok(waiting) => waiting,
        Err(test) => return *test,
    };
    let far = case.far();
    let stalled = far.pressure.as_ref().and_then(|stalls| stalls.get("io.some")).copied();
    let Some(used) = far.disk_busy.into_iter().chain(stalled).reduce(f64::max) else {
        return Test::Untested;
    };
    let held = waiting.threads(Doing::Storage);
    let inside = (waiting.in_flight - waiting.unread).max(0.5);
    let is_most = held >= HELD_MIN * inside && held >= 0.5 && waiting.adds_up(held);
    let queued = in_turns(&waiting);
    let places = waiting.all_places(case, held).filter(|_| held >= 0.5);
    let by_threads = match (queued, places) {
        _ if used < USED_MIN => return Test::NotSeen,
        _ if is_most => waiting.seen(
            ("syscall", ["server_threads_now"]),
            "threads that wait for storage on average",
            held,
            "with the unread requests, all requests in flight",
        ),
        (Some(queued), _) => behind_one(&waiting, held, queued),
        (None, Some(places)) => waiting.with_places("threads that wait for storage", held, places),
        (None, None) => return Test::NotSeen,
    };
    let seen = by_threads.with(
        Family::HardCounter,
        "server",
        ("/proc/diskstats, /proc/pressure/io", ["disks", "pressure"]),
        "share of the window in which a disk was in use, or something stalled for I/O",
        percent(used),
        "over 10 %",
    );
    let seen = seen.saying(format!(
        "{held:.1} threads of the server always wait for storage, which was in use for {} of the \
         time",
        percent(used)
    ));
    Test::Seen(seen.next("try a faster device, or tmpfs to see how much storage costs"))
}

/// Whether storage is in use all the time.
pub(super) fn is_always_used(waiting: &Waiting) -> bool {
    waiting.threads(Doing::Storage) >= ALWAYS
}

/// Threads that sleep while another one waits for storage, if nothing else goes on.
fn in_turns(waiting: &Waiting) -> Option<f64> {
    let asleep = waiting.threads(Doing::Futex) + waiting.threads(Doing::Timer);
    let held = waiting.threads(Doing::Storage) + asleep;
    let is_all = held >= ALWAYS * waiting.occupied() && waiting.adds_up(held);
    (is_always_used(waiting) && is_all).then_some(asleep)
}

fn behind_one(waiting: &Waiting, held: f64, queued: f64) -> Seen {
    let mut seen = waiting.seen(
        ("syscall", ["server_threads_now"]),
        &format!("threads that wait for storage, {held:.1}, and that sleep, on average"),
        held + queued,
        "one at the storage all the time; with the unread requests, all requests in flight",
    );
    let what = "the sleeping threads may wait for something other than their turn at the storage";
    seen.against.push(what.to_string());
    seen
}

#[cfg(test)]
pub(super) mod tests {
    use crate::case::Case;
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::{COMPUTING, READ, Signs, UNSEEN, two_of_eight};
    use model::reading::Doing;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            two_of_eight(scene, Doing::Storage);
            scene.fixture.observed.disk_busy = Some(0.8);
        },
        without: &[
            ("a disk in use", |scene| scene.fixture.observed.disk_busy = Some(0.01)),
            ("the disks", |scene| scene.fixture.observed.disk_busy = None),
            READ,
            UNSEEN,
            COMPUTING,
        ],
    };

    fn writing(doing: Doing) -> Fixture {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        fixture.doing(&[(1, 0.01, doing, None), (2, 0.01, doing, None)]);
        fixture.unread_at_server(0.75);
        fixture.observed.disk_busy = Some(0.8);
        fixture
    }

    #[test]
    fn threads_that_wait_for_storage_are_seen() {
        let mut fixture = writing(Doing::Storage);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 3);
        fixture.observed.disk_busy = Some(0.01);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "no disk was used");
        fixture.observed.disk_busy = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
        assert_eq!(super::test(&writing(Doing::Timer).case()), Test::NotSeen, "A2");
    }

    /// Three threads of an asynchronous runtime write; its loop has read all eight requests. One
    /// request takes 3 ms, and 1000 come through in a second.
    #[test]
    fn a_runtime_that_has_read_all_requests_waits_for_storage_in_its_own_threads() {
        let mut fixture = writing(Doing::Storage);
        fixture.unread_at_server(0.0);
        let one = |tid, doing| (tid, 0.01, doing, None);
        let writers = |doing| [1, 2, 3].map(|tid| one(tid, doing));
        let mut test = |doing| {
            fixture.doing(&[&writers(doing)[..], &[one(4, Doing::Events)]].concat());
            let mut light = Fixture::point(1, 333.0);
            light.service_ns.mean = Some(3_000_000);
            let half = Fixture::point(4, 990.0);
            let ramp = [&light, &half, &fixture.point];
            super::test(&Case { ramp: &ramp, ..fixture.case() })
        };
        let Test::Seen(seen) = test(Doing::Storage) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (3, 0), "{seen:?}");
        assert_eq!(test(Doing::Timer), Test::NotSeen, "A2: they sleep");
        fixture.doing(&[one(1, Doing::Storage), one(4, Doing::Events)]);
        let alone = super::test(&fixture.case());
        assert_eq!(alone, Test::NotSeen, "one level does not tell how many places there are");
    }

    #[test]
    fn threads_that_wait_for_their_turn_at_the_storage_are_seen() {
        let mut fixture = writing(Doing::Storage);
        let asleep = |tid| (tid, 0.01, Doing::Timer, None);
        let one = (1, 0.01, Doing::Storage, None);
        fixture.doing(&[one, asleep(2), asleep(3), asleep(4)]);
        fixture.unread_at_server(0.5);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.against.len(), 1);
        let other = |tid| (tid, 0.01, Doing::Receive, None);
        fixture.doing(&[one, other(2), other(3), other(4)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "they wait for another service");
        fixture.doing(&[asleep(1), asleep(2), asleep(3), asleep(4)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A4 or A2");
    }
}
