//! A2: a fixed number of workers that each wait for something; further requests wait unread.
//!
//! Signals: what the server's threads sleep in, requests that wait unread in its sockets, and over
//! a ramp the duration of a request at light load.
//! Rule: both sides have CPU to spare, at least 10 % of the requests in flight wait unread (25 %
//! without a ramp), and the threads that sleep for a time, in a read or in some other call hold the
//! rest (adding up to 75 to 130 %), are at least half of the threads with work, and at least 70 %
//! of those that sleep so, run or wait for a CPU. Over a ramp: they are as many as the rate keeps
//! asleep if each request sleeps as long as at light load. Without unread requests: the threads
//! that sleep and those at work are all places of the server, or no thread is left that waits for
//! requests. Or an accept queue that holds over 10 % of the requests and is never seen empty, while
//! the server has CPU time to accept them. What the elimination of other walls leaves may be A2
//! too, if the ramp shows several places.
//! Mimics: A4 (requests that a limiter lets wait sleep too, but not at light load), A3 and A6
//! (there it is known what the workers wait for; looked at first), A1 (a lock), S3 (looked at
//! first), C3 (nothing waits unread).
//! Confirm: twice the workers double the rate. With k workers that each take s, the rate is k / s
//! and grows up to k requests in flight.
//! Source: Lazowska et al., Quantitative System Performance, chapter 5 (asymptotic bounds).
//! Name: a pool of workers that wait
//! Reason: requests wait for a free place in a pool
//! Fix: give that pool more places, or shorten what a request waits for there

use super::Family::{QueueLocation, ThreadStates};
use super::elimination::{OTHERWISE_MAX, at_cpus};
use super::waiting::{ADDS_UP, QUEUE_MIN, Waiting, asleep_at_light_load};
use super::{Seen, Test};
use crate::case::{Case, percent};
use model::reading::Doing;

/// If the work of a request explains less than this part of the sleepers, it is A4.
pub(super) const EXPLAINED_MIN: f64 = 0.5;
/// If it explains more than this, requests already waited at the lightest load.
const EXPLAINED_MAX: f64 = 1.5;

/// Share of the requests in flight that must wait unread if no lighter level is known.
const QUEUE_MIN_ALONE: f64 = 0.25;
/// Threads that wait for requests, over those that sleep: up to this many count as none.
const IDLE_MAX: f64 = 0.10;
/// Share of the threads with work that must sleep.
const SHARE_MIN: f64 = 0.50;

pub fn test(case: &Case<'_>) -> Test {
    let waiting = match Waiting::of(case) {
        Ok(waiting) => waiting,
        Err(test) => return *test,
    };
    by_threads(case, &waiting).or_else(|| nothing_accepted(case)).map_or(Test::NotSeen, Test::Seen)
}

/// Connections that wait to be accepted all the time, at a server with CPU time to accept them.
fn nothing_accepted(case: &Case<'_>) -> Option<Seen> {
    let share = case.never_accepted().filter(|share| *share >= QUEUE_MIN)?;
    let queue = case.far().listeners?;
    let (used, mean) = (percent(case.server_utilisation()?), queue.mean_queued);
    let mut seen = Seen::default()
        .with(
            QueueLocation,
            "server",
            ("sock_diag", ["listeners"]),
            &format!(
                "connections in the accept queue on average, never none in {} reads",
                queue.reads
            ),
            format!("{mean:.1}, {} of the requests in flight", percent(share)),
            "over 10 %",
        )
        .with(
            ThreadStates,
            "server",
            ("schedstat", ["server_threads"]),
            "part of its CPUs that the server used",
            used.clone(),
            "under 75 %: it has the time to accept them, and does not",
        )
        .saying(format!(
            "no place is free: {mean:.1} connections always wait to be accepted, while the server \
             uses {used} of its CPUs"
        ));
    seen.against.push(
        "an acceptor that sleeps, or does slow work for each connection, looks the same"
            .to_string(),
    );
    Some(seen)
}

/// The threads that hold requests, while others wait for one.
fn by_threads(case: &Case<'_>, waiting: &Waiting) -> Option<Seen> {
    let (asleep, how) = most_asleep(waiting);
    let light = asleep_at_light_load(case, asleep);
    if asleep < 0.5 || light.is_some_and(|explained| explained < EXPLAINED_MIN) {
        return None;
    }
    let seen = if is_queue_of(case, waiting, asleep, light.is_some()) {
        waiting.seen(
            ("syscall", ["server_threads_now"]),
            &format!("threads asleep {how} on average"),
            asleep,
            "with the unread requests, all requests in flight",
        )
    } else {
        held(case, waiting)?
    };
    let mut seen = seen;
    if light.is_none_or(|explained| explained > EXPLAINED_MAX) {
        seen.against.push(
            "a limiter that queues requests (A4) looks the same at one load; a ramp separates them"
                .to_string(),
        );
    }
    let (workers, each_ms) = (asleep.round().max(1.0), asleep / case.point.rate * 1e3);
    let queued = waiting.in_flight - asleep;
    let seen = seen.saying(format!(
        "about {workers:.0} workers are always in use, each asleep {how}; {queued:.1} of {:.1} \
         requests in flight wait for one",
        waiting.in_flight
    ));
    Some(seen.fixed_by(format!(
        "run more than {workers:.0} workers, or shorten the {each_ms:.1} ms that each waits per \
         request"
    )))
}

/// The requests that wait for a place while most places are held by threads that sleep, whatever
/// else is busy: a thread that waits for a CPU holds its place longer, but is no new one.
pub(super) fn held(case: &Case<'_>, waiting: &Waiting) -> Option<Seen> {
    let (asleep, how) = most_asleep(waiting);
    if asleep < 0.5 {
        return None;
    }
    if let Some(places) = waiting.all_places(case, asleep) {
        return Some(waiting.with_places(&format!("threads asleep {how}"), asleep, places));
    }
    is_nobody_left(waiting, asleep).then(|| with_nobody_left(waiting, (asleep, how)))
}

/// The requests in places and before them: those that wait unread or, where all places are known to
/// be taken, wherever they wait.
pub(super) fn requests(case: &Case<'_>, waiting: &Waiting) -> f64 {
    match waiting.all_places(case, most_asleep(waiting).0) {
        Some(_) => waiting.in_flight,
        None => waiting.unread + waiting.occupied(),
    }
}

/// Whether A2 is seen, and the sleepers hold requests that the server has read: a thread that
/// sleeps before it accepts a connection holds none.
pub(super) fn holds_requests(case: &Case<'_>) -> bool {
    let inside = case.point.residence.and_then(|residence| residence.inside_server);
    let (Ok(waiting), Some(inside)) = (Waiting::of(case), inside) else { return false };
    let asleep = most_asleep(&waiting).0;
    inside >= ADDS_UP.start() * asleep && matches!(test(case), Test::Seen(_))
}

/// The call in which most threads sleep, and how many.
fn most_asleep(waiting: &Waiting) -> (f64, &'static str) {
    let calls = [
        (waiting.threads(Doing::Timer), "for a time"),
        (waiting.for_a_time, "on a futex for a time"),
        (waiting.threads(Doing::Receive), "in a read"),
        (waiting.threads(Doing::Other), "in some other call"),
    ];
    let more = |best: (f64, _), one: (f64, _)| if one.0 > best.0 { one } else { best };
    calls.into_iter().reduce(more).unwrap_or((0.0, ""))
}

/// Whether the sleepers and the unread requests are all requests in flight, and the sleepers are
/// the workers. A runtime's own thread may sleep beside threads that compute (Go's sysmon).
fn is_queue_of(case: &Case<'_>, waiting: &Waiting, asleep: f64, is_ramp: bool) -> bool {
    // A few unread requests are also what samples find at a server that reads quickly.
    let queue_min = if is_ramp { QUEUE_MIN } else { QUEUE_MIN_ALONE };
    let is_most = asleep >= SHARE_MIN * waiting.occupied();
    let is_idle = at_cpus(case).is_some_and(|busy| busy <= OTHERWISE_MAX * (asleep + busy));
    waiting.unread_share() >= queue_min && waiting.adds_up(asleep) && is_most && is_idle
}

/// Whether no thread is left to take the next request in while many requests wait unread.
fn is_nobody_left(waiting: &Waiting, asleep: f64) -> bool {
    waiting.unread_share() >= QUEUE_MIN_ALONE
        && waiting.idle() < IDLE_MAX * asleep
        && asleep >= SHARE_MIN * waiting.occupied()
}

fn with_nobody_left(waiting: &Waiting, (asleep, how): (f64, &str)) -> Seen {
    let field = format!("threads asleep {how} on average, of {:.1} with work", waiting.occupied());
    let rule = "most of them, and none waits for the next request";
    let source = ("syscall", ["server_threads_now"]);
    let seen =
        Seen::default().with(ThreadStates, "server", source, &field, format!("{asleep:.1}"), rule);
    let field = "requests in flight that wait unread";
    let value = percent(waiting.unread_share());
    seen.with(QueueLocation, "server", ("sock_diag", ["connections"]), field, value, "over 25 %")
}

#[cfg(test)]
pub(super) mod tests {
    use crate::case::Case;
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::{COMPUTING, READ, Signs, UNSEEN, two_of_eight};
    use model::fleet::AgentPoint;
    use model::histogram::Summary;
    use model::load::LoadModel;
    use model::reading::Doing;
    use model::verdict::Named;
    use model::wall::WallId;
    use observe::QueuePeak;

    pub const SIGNS: Signs = Signs {
        shown: |scene| two_of_eight(scene, Doing::Timer),
        without: &[
            READ,
            UNSEEN,
            COMPUTING,
            ("a plan that is not reached", |scene| {
                let point = &mut scene.fixture.point;
                point.load.model = LoadModel::Open;
                point.offered_rate = Some(point.rate);
                point.send_delay_ns = Some(Summary { p99: Some(20_000), ..Summary::default() });
            }),
        ],
    };

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
        assert!(seen.families() == 2 && seen.fix.as_ref().unwrap().contains("than 2"), "{seen:?}");
        assert!(seen.against[0].contains("A4"), "{seen:?}");
        fixture.unread_at_server(0.3);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "half of them are elsewhere");
        fixture.unread_at_server(0.75);
        fixture.server_thread(0.97, 0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "a hot server");
    }

    /// The controller of a fleet has no readings of its generators: the agents report theirs.
    #[test]
    fn the_agents_of_a_fleet_say_whether_their_hosts_had_time() {
        let mut fixture = pool();
        fixture.observed.client_threads = None;
        let agent = |worker_busy, wall| AgentPoint {
            worker_busy,
            wall: Some(wall),
            ..AgentPoint::default()
        };
        let mut test = |agents: [AgentPoint; 2]| {
            fixture.point.agents = agents.into();
            super::test(&fixture.case())
        };
        let well = agent(Some(0.1), Named::Unknown);
        assert!(matches!(test([well.clone(), well.clone()]), Test::Seen(_)));
        let busy = agent(Some(0.95), Named::Unknown);
        assert_eq!(test([well.clone(), busy]), Test::NotSeen, "a hot worker");
        let limited = agent(Some(0.1), Named::Wall(WallId::C5));
        assert_eq!(test([well.clone(), limited]), Test::NotSeen, "its link is full");
        let silent = agent(None, Named::Unknown);
        assert_eq!(test([well, silent]), Test::Untested);
    }

    /// Event loops of one request each do not sleep, and do not take the next connection either.
    #[test]
    fn connections_that_an_idle_server_never_accepts_find_no_place() {
        let mut fixture = pool();
        fixture.unread_at_server(0.0);
        fixture.doing(&[(1, 0.05, Doing::Events, None), (2, 0.05, Doing::Events, None)]);
        let mut test = |empty_reads| {
            let mean_queued = 5.0;
            let queue = QueuePeak { queued: 6, backlog: 128, mean_queued, reads: 9, empty_reads };
            fixture.observed.listeners = Some(queue);
            super::test(&fixture.case())
        };
        let Test::Seen(seen) = test(0) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 1));
        assert_eq!(test(1), Test::NotSeen, "it was emptied once");
        fixture.observed.listeners =
            Some(QueuePeak { queued: 1, backlog: 128, mean_queued: 0.5, reads: 9, empty_reads: 0 });
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "few of the requests");
    }

    #[test]
    fn a_full_pool_is_the_wall_beside_a_neighbour_too() {
        let mut fixture = pool();
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        fixture.trial.cpus = vec![1];
        fixture.cpu(0, 0.99);
        fixture.unread_at_server(0.6);
        // Two sleep, and one waits for a CPU that others use.
        let sleeper = |tid| (tid, 0.01, Doing::Timer, None);
        fixture.doing(&[sleeper(1), sleeper(2), (3, 0.3, Doing::Running, None)]);
        fixture.check_gates();
        let (wall, seen) = crate::walls::at_most_requests(&fixture.case()).expect("a holder");
        assert_eq!((wall, seen.families()), (WallId::A2, 2));
        let reader = (4, 0.01, Doing::Events, None);
        fixture.doing(&[sleeper(1), sleeper(2), (3, 0.3, Doing::Running, None), reader]);
        assert!(crate::walls::at_most_requests(&fixture.case()).is_none(), "a place is free");
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
    fn a_thread_of_the_runtime_that_sleeps_beside_others_that_compute_is_no_pool() {
        let mut fixture = pool();
        let sleeps = (1, 0.01, Doing::Timer, None);
        let ready = (4, 0.01, Doing::Events, None);
        let runner = |tid, run| (tid, run, Doing::Running, None);
        fixture.doing(&[sleeps, runner(2, 0.6), runner(3, 0.6), ready]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "it is one of three with work");
        fixture.doing(&[sleeps, runner(2, 0.6), ready]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "the other one computes");
        let waits = |tid| (tid, 0.01, Doing::Futex, None);
        fixture.doing(&[sleeps, waits(2), waits(3), ready]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "two others wait for a lock");
        fixture.doing(&[sleeps, runner(2, 0.05), ready]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "it hardly does");
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

    /// Eight in flight at 1000/s, and a level with one request of 3 ms: three are in work.
    fn over_a_ramp(fixture: &Fixture) -> Test {
        asked_over_a_ramp(fixture, super::test)
    }

    fn asked_over_a_ramp<T>(fixture: &Fixture, ask: impl Fn(&Case<'_>) -> T) -> T {
        let mut light = Fixture::point(1, 333.0);
        light.service_ns.mean = Some(3_000_000);
        let half = Fixture::point(4, 990.0);
        let ramp = [&light, &half, &fixture.point];
        ask(&Case { ramp: &ramp, ..fixture.case() })
    }

    /// A runtime that reads every request at once: five wait in its memory.
    #[test]
    fn a_pool_with_its_queue_in_memory_is_the_wall_beside_a_neighbour_too() {
        let mut fixture = pool();
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        fixture.trial.cpus = vec![1];
        fixture.cpu(0, 0.99);
        fixture.unread_at_server(0.0);
        let sleeper = |tid| (tid, 0.1, Doing::Timer, None);
        let reader = (4, 0.01, Doing::Events, None);
        fixture.doing(&[sleeper(1), sleeper(2), sleeper(3), reader]);
        fixture.check_gates();
        let holder = |fixture: &Fixture| {
            let ask = |case: &Case<'_>| crate::walls::at_most_requests(case).map(|(wall, _)| wall);
            asked_over_a_ramp(fixture, ask)
        };
        assert_eq!(holder(&fixture), Some(WallId::A2));
        fixture.doing(&[sleeper(1), reader]);
        assert_eq!(holder(&fixture), None, "one place of three is taken");
    }

    #[test]
    fn workers_that_are_all_places_leave_the_others_anywhere() {
        let mut fixture = pool();
        fixture.unread_at_server(0.0);
        let sleeper = |tid| (tid, 0.01, Doing::Timer, None);
        let reader = |tid| (tid, 0.01, Doing::Events, None);
        fixture.doing(&[sleeper(1), sleeper(2), sleeper(3), reader(4)]);
        let Test::Seen(seen) = over_a_ramp(&fixture) else { panic!("not seen") };
        assert_eq!((seen.families(), seen.against.len()), (2, 0), "{seen:?}");
        fixture.doing(&[sleeper(1), sleeper(2), reader(4)]);
        assert_eq!(over_a_ramp(&fixture), Test::NotSeen, "two do not hold three");
        let runner = |tid| (tid, 0.3, Doing::Running, None);
        let sleepers = [1, 2, 3].map(sleeper);
        fixture.doing(&[&sleepers[..], &[4, 5, 6, 7].map(runner)].concat());
        assert_eq!(over_a_ramp(&fixture), Test::NotSeen, "others compute");
    }

    #[test]
    fn a_futex_with_a_time_out_is_a_sleep_and_one_without_is_not() {
        let mut fixture = pool();
        fixture.unread_at_server(0.0);
        let mut test = |timeout_ns| {
            fixture.asleep_on_futexes(3, timeout_ns);
            over_a_ramp(&fixture)
        };
        assert!(matches!(test(Some(2_000_000)), Test::Seen(_)));
        assert_eq!(test(None), Test::NotSeen, "idle threads of a pool");
        assert_eq!(test(Some(60_000_000_000)), Test::NotSeen, "idle for a minute at most");
    }

    #[test]
    fn nobody_is_left_to_read_where_the_only_thread_sleeps() {
        let mut fixture = pool();
        fixture.unread_at_server(0.5);
        fixture.doing(&[(1, 0.1, Doing::Timer, None)]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)), "it has read three more");
        fixture.doing(&[(1, 0.1, Doing::Timer, None), (2, 0.1, Doing::Events, None)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "another thread reads");
        fixture.unread_at_server(0.1);
        fixture.doing(&[(1, 0.1, Doing::Timer, None)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "hardly any wait unread");
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
