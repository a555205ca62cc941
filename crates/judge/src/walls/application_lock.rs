//! A1: requests go through one lock, one after the other, while nothing is busy.
//!
//! Signals: threads of the server asleep on the same futex; time that goroutines waited for
//! mutexes, if the runtime reports it; requests that wait unread.
//! Rule: both sides have CPU to spare; at least half of the server's threads that have work sleep
//! on one futex; these are as many as the requests that are nowhere else (within a factor of two),
//! and together with the unread requests at least half of all requests. A lock that limits is held
//! nearly all of the time, so on average at least half a thread is at work beside those that sleep
//! on it. Or goroutines waited for mutexes for half of the time that requests were inside the
//! server. Or the threads of a process take turns: together they run for 93 to 107 % of one CPU of
//! several, none of them for more than 60 % of that, while on average at least one thread, and more
//! than wait for a CPU, sleep on futexes that several threads use (the lock of an interpreter). Or
//! by elimination, over a ramp: the server calls no other service and holds the requests, neither
//! computes nor waits for storage, no thread shows what it waits for, and it works on one request
//! at a time: the rate times the duration of a request alone is 0.7 to 1.4.
//! Mimics: A2 (a pool with one place; idle threads of a pool also sleep on one futex, but hold no
//! request), A3 (threads that wait for a connection from a pool of connections; listed against it),
//! S3.
//! Confirm: more CPUs change nothing; time added inside the lock lowers the rate in proportion,
//! time added outside does not.
//! Source: Linux Documentation/locking/futex-requeue-pi.rst, futex(2); Go runtime/metrics
//! (/sync/mutex/wait/total:seconds); Curtsinger and Berger, Coz (2015).
//! Name: a lock in the application
//! Reason: requests take turns at one lock
//! Fix: find the lock (mutex or block profile, off-CPU stacks); do less under it, or split it

use super::waiting::Waiting;
use super::{Family, Seen, Test};
use crate::case::{Case, percent};
use crate::waits::{self, Waits};
use model::reading::Doing;

/// Share of the requests in question that must wait at the lock.
const SHARE_MIN: f64 = 0.50;
/// Threads at work beside the queue, on average: between two holders, the lock is handed over.
const HOLDERS_MIN: f64 = 0.5;
/// Fewer sleepers than this are not a queue.
const SLEEPERS_MIN: f64 = 0.8;
/// Of the CPU time of threads that take turns, the largest share that one thread may have.
const TURN_MAX: f64 = 0.6;

pub fn test(case: &Case<'_>) -> Test {
    if let Some(seen) = by_turns(case) {
        return Test::Seen(
            seen.next("start a second process of the server, and repeat: it has its own lock")
                .fixed_by(
                    "do less work under that lock (interpreter: move work outside it), or split it",
                ),
        );
    }
    let waiting = match Waiting::of(case) {
        Ok(waiting) => waiting,
        Err(test) => return *test,
    };
    let seen = match (by_threads(&waiting), by_runtime(case, &waiting)) {
        (Some(seen), None) | (None, Some(seen)) => seen,
        (Some(mut seen), Some(more)) => {
            seen.findings.extend(more.findings);
            seen
        }
        (None, None) => return Test::NotSeen,
    };
    let mut seen = seen;
    if waiting.downstream.is_some_and(|waits| waits >= 0.8) {
        let what = "the server also waits for another service: a pool of connections (A3)?";
        seen.against.push(what.to_string());
    }
    Test::Seen(seen)
}

/// The requests at one lock, whatever else is busy.
pub(super) fn held(_: &Case<'_>, waiting: &Waiting) -> Option<Seen> {
    by_threads(waiting)
}

fn by_threads(waiting: &Waiting) -> Option<Seen> {
    let asleep = waiting.on_one_futex;
    // Requests held by threads in other states, or elsewhere, are not at the lock.
    let elsewhere = waiting.occupied() - waiting.threads(Doing::Futex)
        + waiting.downstream.unwrap_or(0.0)
        + waiting.travelling.max(waiting.unsent);
    let inside = waiting.in_flight - waiting.unread;
    let at_lock = inside - elsewhere;
    let is_most = asleep >= SHARE_MIN * waiting.occupied();
    let fits = asleep >= SHARE_MIN * at_lock && at_lock >= SHARE_MIN * asleep;
    let is_half = asleep + waiting.unread >= SHARE_MIN * waiting.in_flight;
    let is_held = waiting.occupied() - asleep >= HOLDERS_MIN;
    (asleep >= SLEEPERS_MIN && is_most && fits && is_half && is_held).then(|| {
        let seen = waiting.seen(
            ("syscall", ["server_threads_now"]),
            "threads asleep on one futex on average",
            asleep,
            "at least half of the threads that have work",
        );
        let of = waiting.occupied();
        seen.saying(format!(
            "requests take turns at one lock: {asleep:.1} of {of:.1} threads with work sleep on it"
        ))
    })
}

/// Threads of one process that compute one after the other: the threads that do not run wait for a
/// lock that the running thread holds. More CPU time would change nothing for them.
pub(super) fn by_turns(case: &Case<'_>) -> Option<Seen> {
    let (pid, run) = super::takes_turns(case).filter(|_| waits::of(case) != Waits::No)?;
    let doing = case.far().doing.as_ref()?;
    let threads = case.far().server_threads.iter().flatten();
    let serving: Vec<_> =
        threads.filter(|thread| thread.pid == pid && case.serves(thread)).collect();
    let longest = serving.iter().map(|thread| thread.run).fold(0.0, f64::max);
    let wait: f64 = serving.iter().map(|thread| thread.wait).sum();
    let is_serving = |tid| serving.iter().any(|thread| thread.tid == tid);
    let asleep = doing.mean_on_shared_futexes(is_serving);
    (asleep >= wait.max(1.0) && longest <= TURN_MAX * run).then(|| {
        Seen::default()
            .with(
                Family::ThreadStates,
                "server",
                ("schedstat", ["server_threads"]),
                &format!("threads of process {pid} together ran, the busiest of them"),
                format!("{}, {}", percent(run), percent(longest)),
                "one CPU's worth of several: the threads take turns",
            )
            .with(
                Family::QueueLocation,
                "server",
                ("syscall", ["server_threads_now"]),
                "threads asleep on shared futexes; waiting for a CPU; on average",
                format!("{asleep:.1}; {wait:.1}"),
                "at least one, and more than wait for a CPU",
            )
            .saying(format!(
                "threads of process {pid} compute one after the other: all together they use \
                 {run:.2} of a CPU, and {asleep:.1} of them wait for their turn"
            ))
    })
}

fn by_runtime(case: &Case<'_>, waiting: &Waiting) -> Option<Seen> {
    let runtime = case.far().runtime.as_ref()?;
    let (name, waited_s) = runtime.iter().find(|(name, _)| name.starts_with("mutex_wait"))?;
    let waiting_mean = waited_s / case.window_s();
    let share = waiting_mean / (waiting.in_flight - waiting.unread).max(1.0);
    (share >= SHARE_MIN).then(|| {
        Seen::default()
            .with(
                Family::HardCounter,
                "server",
                ("runtime", ["server_runtime"]),
                &format!("{name} over the time requests were inside the server"),
                percent(share),
                "over 50 %",
            )
            .saying(format!(
                "requests wait for a mutex for {} of their time in the server",
                percent(share)
            ))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::{Signs, UNSEEN};
    use model::reading::Doing;
    use observe::DownstreamUse;
    use std::collections::BTreeMap;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.worker(0.05, 0.0);
            let waits = |tid| (tid, 0.01, Doing::Futex, Some(7));
            scene.fixture.doing(&[(1, 0.01, Doing::Timer, None), waits(2), waits(3), waits(4)]);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("one futex", |scene| {
                let waits = |tid| (tid, 0.01, Doing::Futex, Some(u64::from(tid)));
                scene.fixture.doing(&[waits(1), waits(2), waits(3), waits(4)]);
            }),
            ("requests at the lock", |scene| scene.fixture.unread_at_server(0.9)),
            ("a server with slack", |scene| scene.fixture.server_thread(0.9, 0.0)),
            UNSEEN,
        ],
    };

    /// Eight requests in flight, four workers: one holds the lock, three wait for it.
    fn locked() -> Fixture {
        let mut fixture = Fixture::good();
        fixture.worker(0.05, 0.0);
        fixture.doing(&[
            (1, 0.01, Doing::Timer, None),
            (2, 0.01, Doing::Futex, Some(7)),
            (3, 0.01, Doing::Futex, Some(7)),
            (4, 0.01, Doing::Futex, Some(7)),
        ]);
        fixture.unread_at_server(0.5);
        fixture
    }

    #[test]
    fn threads_on_one_futex_before_unread_requests_are_seen() {
        let mut fixture = locked();
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0));
        fixture.observed.downstreams = Some(vec![DownstreamUse {
            to: "db".into(),
            connections: 1.0,
            waiting: 1.0,
            heard_ms: None,
        }]);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.against[0].contains("A3"), "{seen:?}");
        fixture.worker(0.9, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a hot generator");
    }

    #[test]
    fn idle_threads_of_a_pool_hold_no_request() {
        let mut fixture = locked();
        let sleeper = |tid| (tid, 0.01, Doing::Timer, None);
        let idle = |tid| (tid, 0.01, Doing::Futex, Some(7));
        let threads: Vec<_> = (1..=8).map(sleeper).chain((9..=24).map(idle)).collect();
        fixture.doing(&threads);
        fixture.unread_at_server(0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "eight sleep, sixteen idle");
        fixture.doing(&[1, 2, 3, 4].map(sleeper));
        fixture.unread_at_server(0.5);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A2");
        fixture.doing(&[1, 2, 3, 4].map(|tid| (tid, 0.01, Doing::Futex, Some(u64::from(tid)))));
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "each waits on a different futex");
    }

    #[test]
    fn threads_that_hardly_run_hold_no_request() {
        let mut fixture = locked();
        let stay_s = fixture.point.service_ns.mean.unwrap() as f64 / 1e9;
        let mut slices = |of_stay: f64| {
            let threads = fixture.far().server_threads.iter_mut().flatten();
            threads.for_each(|thread| thread.slices_s = of_stay / stay_s);
            super::test(&fixture.case())
        };
        assert!(matches!(slices(1.0), Test::Seen(_)), "each runs once in each request's time");
        assert_eq!(slices(0.1), Test::NotSeen, "a runtime's idle threads");
    }

    #[test]
    fn threads_that_compute_one_after_the_other_are_seen_beside_a_neighbour() {
        let taking_turns = |run, asleep: Doing, futex| {
            let mut fixture = locked();
            let (runs, waits) = ((Doing::Running, None), (asleep, futex));
            let threads = [runs, waits, waits, waits].into_iter().zip(1..);
            let threads: Vec<_> =
                threads.map(|((doing, futex), tid)| (tid, run, doing, futex)).collect();
            fixture.doing(&threads);
            fixture.far().server_threads.iter_mut().flatten().for_each(|one| one.wait = 0.2);
            fixture.cpu(0, 0.99);
            fixture.cpu(1, 0.99);
            fixture
        };
        let turns = taking_turns(0.25, Doing::Futex, Some(7));
        assert!(matches!(super::test(&turns.case()), Test::Seen(_)));
        assert_eq!(super::super::neighbours::test(&turns.case()), Test::NotSeen, "S6");
        assert_eq!(super::super::server_cpu::test(&turns.case()), Test::NotSeen, "S1");
        let more = taking_turns(0.4, Doing::Futex, Some(7));
        assert_eq!(super::test(&more.case()), Test::NotSeen, "more than one at a time");
        let ready = taking_turns(0.25, Doing::Running, None);
        assert_eq!(super::test(&ready.case()), Test::NotSeen, "S6: they wait for a CPU");
    }

    #[test]
    fn requests_on_the_way_are_not_at_a_lock() {
        let mut fixture = locked();
        fixture.unread_at_server(0.0);
        fixture.point.connections.connect_ns.p50 = Some(7_900_000);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "N1 with an idle pool");
    }

    #[test]
    fn goroutines_that_wait_for_mutexes_are_seen() {
        let mut fixture = locked();
        fixture.doing(&[(1, 0.01, Doing::Events, None), (2, 0.01, Doing::Futex, Some(1))]);
        let waited =
            |waited_s| Some(BTreeMap::from([("mutex_wait_seconds".to_string(), waited_s)]));
        fixture.unread_at_server(0.0);
        fixture.observed.runtime = waited(5.0 * 7.0);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "seven of eight requests");
        fixture.observed.runtime = waited(0.5);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a share of residence of 1 %");
    }

    #[test]
    fn without_thread_states_it_is_untested() {
        let mut fixture = locked();
        fixture.observed.doing = None;
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
