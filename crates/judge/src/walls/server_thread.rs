//! S2: one thread of the server is saturated while other CPUs it may use are idle.
//!
//! Signals: time each thread ran and waited for a CPU, busy share of the CPUs it may use, requests
//! that wait unread.
//! Rule: a thread ran or waited for more than 95 % of the window, while the server leaves part of
//! the CPUs it may use idle; and requests wait unread in its sockets (or, over a ramp, throughput
//! stays flat).
//! Mimics: K4 (receive work charged to the thread), K14 (one of several workers), K3, a collector
//! thread off the request path. Threads of a process that take turns (together they run for 93 to
//! 107 % of one CPU, none of them for 95 %) belong to a runtime with one scheduler, or to a lock
//! (A1): the verdict says both.
//! Confirm: two server processes double the rate.
//! Source: Gregg, Thread State Analysis; Linux Documentation/scheduler/sched-stats.rst.
//! Name: one server thread
//! Reason: one thread of the server is full
//! Fix: run more server workers (threads, processes or GOMAXPROCS)

use super::{Family, Seen, Test};
use crate::case::{Case, HOT, Whose, percent};
use model::step::Step;
use observe::ThreadShare;
use std::collections::BTreeMap;

/// From this share of its CPUs on, the server uses all of them.
const ALL: f64 = 0.90;

pub fn test(case: &Case<'_>) -> Test {
    let Some(cpus) = case.server_cpus() else { return Test::Untested };
    let Some(busy) = case.busy(Whose::Server, &cpus) else { return Test::Untested };
    // With a single allowed CPU, one thread and all CPUs are the same: S1 or S4.
    if cpus.len() < 2 || case.server_utilisation().is_none_or(|used| used > ALL) {
        return Test::NotSeen;
    }
    let hottest = case.hottest_server_thread().filter(|thread| thread.wanted() >= HOT);
    let Some(thread) = hottest else { return Test::NotSeen };
    let mut seen = Seen::default().with(
        Family::ThreadStates,
        "server",
        ("schedstat", ["server_threads"]),
        &format!("thread {} ({}) ran or waited", thread.name, thread.tid),
        percent(thread.wanted()),
        "one CPU's worth",
    );
    seen = seen.saying(format!(
        "one thread of the server ({} {}) is always busy, and the other CPUs are not",
        thread.name, thread.tid
    ));
    seen = super::waiting::with_unread(case, seen);
    seen.next.extend(super::short_connections::step(case).map(Step::from));
    let others: f64 = 1.0 - busy;
    if others < 0.10 {
        seen.against.push(format!("the CPUs it may use are {} busy as well", percent(busy)));
    }
    Test::Seen(seen)
}

/// A process with several threads that together use one CPU's worth while none of them uses it
/// alone: its id, and the CPUs' worth of time.
pub(crate) fn takes_turns(case: &Case<'_>) -> Option<(u32, f64)> {
    let threads = case.far().server_threads.as_ref()?;
    let has_room = case.server_cpus()?.len() > 1;
    let hottest = case.hottest_server_thread().map_or(0.0, ThreadShare::wanted);
    single_file(threads).filter(|_| has_room && hottest < HOT)
}

/// A process with several threads that together never used more than one CPU.
fn single_file(threads: &[ThreadShare]) -> Option<(u32, f64)> {
    let mut processes: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for thread in threads {
        let process = processes.entry(thread.pid).or_default();
        process.0 += thread.run;
        process.1 += 1;
    }
    // With several such processes the server as a whole is not limited to one CPU.
    let busy: Vec<_> = processes.iter().filter(|(_, (run, _))| *run > 0.5).collect();
    let [(pid, (run, threads))] = busy[..] else { return None };
    ((0.93..=1.07).contains(run) && *threads > 1).then_some((*pid, *run))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.server_thread(0.97, 0.0);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("a full thread", |scene| scene.fixture.server_thread(0.6, 0.0)),
            ("unread requests", |scene| scene.fixture.unread_at_server(0.0)),
            ("times of threads", |scene| scene.fixture.observed.server_threads = None),
        ],
    };

    #[test]
    fn one_hot_thread_with_an_idle_cpu_is_seen() {
        let mut fixture = Fixture::good();
        fixture.server_thread(0.96, 0.02);
        fixture.unread_at_server(0.4);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        fixture.server_thread(0.70, 0.02);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "not hot");
        fixture.server_thread(0.96, 0.02);
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0];
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "one CPU is S1 or S4");
    }

    #[test]
    fn threads_that_take_turns_are_no_hot_thread() {
        let mut fixture = Fixture::good();
        let mut turns = |threads: &[(u32, f64)]| {
            fixture.server_threads(threads);
            assert_eq!(super::test(&fixture.case()), Test::NotSeen);
            super::takes_turns(&fixture.case()).is_some()
        };
        assert!(turns(&[(7, 0.4), (7, 0.35), (7, 0.24)]));
        assert!(!turns(&[(7, 0.4), (7, 0.35), (7, 0.50)]), "more than one at a time");
        assert!(!turns(&[(7, 0.5), (7, 0.5), (8, 0.5), (8, 0.5)]), "two workers");
    }
}
