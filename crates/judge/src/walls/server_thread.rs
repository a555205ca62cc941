//! S2: one thread of the server is saturated while other CPUs it may use are idle.
//!
//! Signals: time each thread ran and waited for a CPU, busy share of the CPUs it may use, requests
//! that wait unread.
//! Rule: a thread ran or waited for more than 95 % of the window, or a process never ran more than
//! one thread at a time (its threads together ran for 93 to 107 %, as runtimes with one scheduler
//! do), while the CPUs it may use have slack; and requests wait unread in its sockets (or, over a
//! ramp, throughput stays flat).
//! Mimics: K4 (receive work charged to the thread), K14 (one of several workers), K3, a collector
//! thread off the request path.
//! Confirm: two server processes double the rate.
//! Source: Gregg, Thread State Analysis; Linux Documentation/scheduler/sched-stats.rst.

use super::{Family, Seen, Test};
use crate::case::{Case, HOT, Whose, percent};
use observe::ThreadShare;
use std::collections::BTreeMap;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(cpus), Some(threads)) = (case.server_cpus(), &case.far().server_threads) else {
        return Test::Untested;
    };
    let Some(busy) = case.busy(Whose::Server, &cpus) else { return Test::Untested };
    // On a single allowed CPU one thread and all CPUs are the same thing: S1 or S4.
    if cpus.len() < 2 || busy > 0.97 {
        return Test::NotSeen;
    }
    let hottest = case.hottest_server_thread().filter(|thread| thread.wanted() >= HOT);
    let (what, share) = match (hottest, single_file(threads)) {
        (Some(thread), _) => {
            (format!("thread {} ({}) ran or waited", thread.name, thread.tid), thread.wanted())
        }
        (None, Some((pid, run))) => (format!("threads of process {pid} together ran"), run),
        (None, None) => return Test::NotSeen,
    };
    let mut seen = Seen::default().with(
        Family::ThreadStates,
        "server",
        ("schedstat", ["server_threads"]),
        &what,
        percent(share),
        "one CPU's worth",
    );
    seen = super::server_cpu::with_unread(case, seen);
    seen.next.extend(super::short_connections::step(case).map(str::to_string));
    let others: f64 = 1.0 - busy;
    if others < 0.10 {
        seen.against.push(format!("the CPUs it may use are {} busy as well", percent(busy)));
    }
    Test::Seen(seen.next("run more server workers (threads, processes or GOMAXPROCS)"))
}

/// A process with several threads that together never used more than one CPU.
fn single_file(threads: &[ThreadShare]) -> Option<(u32, f64)> {
    let mut processes: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for thread in threads {
        let process = processes.entry(thread.pid).or_default();
        process.0 += thread.run;
        process.1 += 1;
    }
    // With several such processes the server as a whole is not one thread.
    let busy: Vec<_> = processes.iter().filter(|(_, (run, _))| *run > 0.5).collect();
    let [(pid, (run, threads))] = busy[..] else { return None };
    ((0.93..=1.07).contains(run) && *threads > 1).then_some((*pid, *run))
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::walls::Test;

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
    fn a_runtime_with_one_scheduler_is_seen_across_its_threads() {
        let mut fixture = Fixture::good();
        fixture.server_threads(&[(7, 0.4), (7, 0.35), (7, 0.24)]);
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.server_threads(&[(7, 0.4), (7, 0.35), (7, 0.50)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "more than one at a time");
        fixture.server_threads(&[(7, 0.5), (7, 0.5), (8, 0.5), (8, 0.5)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "two workers");
    }
}
