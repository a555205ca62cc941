//! S1: all CPUs the server may use are busy, and its threads wait for them.
//!
//! Signals: busy share of the CPUs it may use, time its threads ran and waited for a CPU, requests
//! that wait unread.
//! Rule: busy over 92 % on the CPUs it may use, the server's threads waited for a CPU for more than
//! 5 % of their runnable time or could have used nearly all of those CPUs, and requests wait unread
//! in its sockets (or, over a ramp, throughput stays flat). Busy CPUs alone are not enough: the
//! cost per request often falls as load rises, and the rate keeps growing at 85 % busy.
//! Mimics: S3 (threads of a throttled group wait for their quota), S7 (spinning), S6 (others use
//! the CPUs), A1 (threads that take turns at a lock, beside others that use the rest: looked at
//! here), K4 (one CPU full of interrupts), C1 on a shared host, busy polling.
//! Confirm: one CPU less for the server lowers the rate in proportion.
//! Source: Gregg, The USE Method; Linux Documentation/scheduler/sched-stats.rst.
//! Name: server CPUs
//! Reason: the server's CPUs are full
//! Fix: make requests cheaper (--profile auto shows where time goes), or give it another CPU

use super::waiting::with_unread;
use super::{Family, Seen, Test, application_lock, cpu_quota};
use crate::case::{Case, Whose, percent};
use model::step::Step;
use model::wall::WallId;
use observe::ThreadShare;

/// Share of the allowed CPU time in which the server's threads must have been runnable.
const WANTED_MIN: f64 = 0.60;

pub fn test(case: &Case<'_>) -> Test {
    full(case)
}

/// Whether the CPUs that the server may use are full, however many those are.
pub(super) fn full(case: &Case<'_>) -> Test {
    let (Some(cpus), Some(threads)) = (case.server_cpus(), &case.far().server_threads) else {
        return Test::Untested;
    };
    let Some(busy) = case.busy(Whose::Server, &cpus) else { return Test::Untested };
    let run: f64 = threads.iter().map(|thread| thread.run).sum();
    let wait: f64 = threads.iter().map(|thread| thread.wait).sum();
    let waiting = wait / (run + wait).max(f64::MIN_POSITIVE);
    let wanted = (run + wait) / cpus.len().max(1) as f64;
    if busy < 0.92 || wanted < WANTED_MIN || (waiting < 0.05 && wanted < 0.92) {
        return Test::NotSeen;
    }
    // Threads that wait for a lock or for their quota do not wait for a CPU.
    let quotas = case.far().server_quotas.as_deref();
    let is_throttled = cpu_quota::throttled(quotas, "server").is_some();
    if is_throttled || application_lock::by_turns(case).is_some() {
        return Test::NotSeen;
    }
    let seen = Seen::default().with(
        Family::ThreadStates,
        "server",
        ("/proc/stat, schedstat", ["cpus", "server_threads"]),
        "part of its CPUs in use; of its threads' time spent waiting for one",
        format!("{}; {}", percent(busy), percent(waiting)),
        "over 92 %; over 5 %, or threads for all CPUs",
    );
    let seen = seen.saying(format!(
        "the server's CPUs are full: {} of their time is used, and its threads spend {} of theirs \
         waiting for one",
        percent(busy),
        percent(waiting)
    ));
    let mut seen = with_unread(case, seen);
    seen.next.extend(super::short_connections::step(case).map(Step::from));
    Test::Seen(seen)
}

/// The CPU wall that the server is closest to.
pub(crate) fn busiest(case: &Case<'_>) -> WallId {
    let hottest = case.hottest_server_thread().map_or(0.0, ThreadShare::wanted);
    let is_one = case.server_utilisation().is_some_and(|used| hottest > used);
    if is_one { WallId::S2 } else { WallId::S1 }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;
    use crate::walls::evidence_tests::Signs;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.cpu(0, 0.99);
            scene.fixture.cpu(1, 0.99);
            scene.fixture.server_threads(&[(7, 0.95), (8, 0.93)]);
            scene.fixture.unread_at_server(0.5);
        },
        without: &[
            ("a busy CPU", |scene| scene.fixture.cpu(1, 0.8)),
            ("threads of its own on them", |scene| {
                scene.fixture.server_threads(&[(7, 0.4), (8, 0.4)]);
            }),
            ("unread requests", |scene| scene.fixture.unread_at_server(0.0)),
            ("shares of CPUs", |scene| scene.fixture.observed.cpus = None),
        ],
    };

    #[test]
    fn busy_cpus_and_waiting_threads_are_seen() {
        let mut fixture = Fixture::good();
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        fixture.server_thread(0.90, 0.60);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(!seen.is_more_than_utilisation(), "no queue was seen: {seen:?}");
        fixture.unread_at_server(0.5);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert!(seen.is_more_than_utilisation());
        fixture.cpu(1, 0.80);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "CPU to spare");
    }

    #[test]
    fn a_busy_host_with_an_idle_server_is_not_the_server() {
        let mut fixture = Fixture::good();
        fixture.cpu(0, 0.99);
        fixture.cpu(1, 0.99);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen);
    }
}
