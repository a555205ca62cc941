//! K14: the load is unevenly spread over the server's workers, and the busiest worker is full.
//!
//! Signals: CPU time that each worker needed (processes, or threads that each have a listening
//! socket), how often each worker had work, requests that wait unread, connections and workers.
//! Rule: of at least two similar workers (with the same name; for a process, its busiest thread)
//! one ran, waited for a CPU or was found at work for more than 95 % of the time, while the median
//! of the others is under 70 %, and the server leaves part of the CPUs it may use idle. The root of
//! the process tree is no worker if it alone holds the listening socket: it accepts for the others.
//! Or there are fewer connections than workers, at least two, and as many workers are full as there
//! are connections, while the others are under 70 %; not where a ramp shows that more connections
//! did not raise the rate. A thread that was at work without a CPU, asleep in a call, is full only
//! if requests are known to wait: in a server with little load it holds up no other request. Chance
//! alone makes the busiest of k workers exceed the mean by about sqrt(2 k ln k / n) with n
//! connections: the verdict prints both.
//! Mimics: S2 (one thread by design, without similar workers, or a full parent that hands its
//! connections over: listed against it where the holders of the listening socket were not read), S1
//! and A2 (all workers are full).
//! Confirm: other source ports (reconnect) make another worker hot; more connections at the same
//! number in flight raise the rate.
//! Source: Linux net/core/sock_reuseport.c; Raab and Steger, Balls into Bins (1998); Node.js
//! cluster (round robin).
//! Name: uneven listeners or queues
//! Reason: some workers of the server are full while others are idle
//! Fix: spread the same load over more connections (-c)

use super::{Family, Seen, Test};
use crate::case::{Case, HOT, percent};
use crate::waits::{self, Waits};
use model::facts::{ProcessFacts, ServerFacts};
use model::order::OrderBy as _;
use observe::ThreadShare;
use std::collections::BTreeMap;

/// The most that the other workers may be loaded.
const OTHERS_MAX: f64 = 0.70;
/// A process that needs less does not serve: it may be the parent of those that do.
const SERVES: f64 = 0.02;
/// From this share of its CPUs on, the server uses all of them.
const ALL: f64 = 0.90;

pub fn test(case: &Case<'_>) -> Test {
    let (Some(server), Some(threads)) = (case.server, &case.far().server_threads) else {
        return Test::Untested;
    };
    let Some(used) = case.server_utilisation() else { return Test::Untested };
    let accepts_alone = accepts_alone(server);
    let mut loads = processes(threads, Some(server.pid).filter(|_| accepts_alone == Some(true)));
    let are_processes = loads.len() >= 2;
    if !are_processes {
        loads = threads_alike(case, threads);
        if is_too_few_connections(case, &loads) && used <= ALL {
            return Test::Seen(too_few_connections(case, &loads));
        }
        loads.truncate(server.listeners as usize);
    }
    loads.sort_by(f64::total_cmp);
    let Some((busiest, others)) = loads.split_last().filter(|(_, others)| !others.is_empty())
    else {
        return Test::NotSeen;
    };
    let median = others[others.len() / 2];
    if *busiest < HOT || median > OTHERS_MAX || used > ALL {
        return Test::NotSeen;
    }
    let (workers, connections) = (loads.len() as f64, case.point.connections.opened.max(1) as f64);
    let excess = busiest / (loads.iter().sum::<f64>() / workers) - 1.0;
    let chance = (2.0 * workers * workers.ln() / connections).sqrt();
    let seen = Seen::default()
        .with(
            Family::ThreadStates,
            "server",
            ("schedstat, syscall", ["server_threads"]),
            &format!("time the busiest of {workers:.0} workers had work; the median of the others"),
            format!("{}; {}", percent(*busiest), percent(median)),
            "over 95 %; under 70 %",
        )
        .with(
            Family::ThreadStates,
            "server",
            ("schedstat, syscall", ["server_threads"]),
            &format!("busiest over mean; by chance with {connections:.0} connections about"),
            format!("{excess:+.2}; {chance:+.2}"),
            "more than chance: connections are distributed unevenly",
        );
    let seen = seen.saying(format!(
        "one of {workers:.0} workers is always busy ({}); half of the others are under {}",
        percent(*busiest),
        percent(median)
    ));
    let mut seen = super::waiting::with_unread(case, seen);
    let is_root = case.hottest_server_thread().is_some_and(|thread| thread.pid == server.pid);
    if are_processes && is_root && accepts_alone.is_none() {
        let what = "the busiest is the parent of the others, and it was not read who holds the \
                    listening socket: a parent that hands connections over looks the same (S2)";
        seen.against.push(what.to_string());
    }
    Test::Seen(
        seen.fixed_by(more_connections(case))
            .next("reconnect: with other source ports another worker should be the hot one"),
    )
}

/// Whether the root of the tree alone holds the listening socket, so that the other processes get
/// their connections from it. None if that was not read, or if no other process is listed.
fn accepts_alone(server: &ServerFacts) -> Option<bool> {
    let holds = |one: &ProcessFacts| one.listeners.map(|listeners| listeners > 0);
    let is_root = |one: &&ProcessFacts| one.pid == server.pid;
    let root = server.processes.iter().find(is_root).and_then(holds)?;
    let others = server.processes.iter().filter(|one| !is_root(one));
    let others: Vec<Option<bool>> = others.map(holds).collect();
    let is_shared = others.contains(&Some(true));
    let is_known = !others.is_empty() && !others.contains(&None);
    (is_shared || is_known).then_some(root && !is_shared)
}

fn more_connections(case: &Case<'_>) -> String {
    let more = u64::from(case.point.load.connections) * 4;
    format!("spread the same load over more connections: -c {more}")
}

/// Whether each connection fills one worker and other workers get none. `loads` is sorted, highest
/// first. Where the rate stayed as connections and full workers became more, it is not their number
/// that limits.
fn is_too_few_connections(case: &Case<'_>, loads: &[f64]) -> bool {
    let connections = case.point.connections.opened as usize;
    let full = loads.iter().filter(|load| **load >= HOT).count();
    let others = loads.get(connections..).unwrap_or_default();
    let has_room = others.iter().all(|load| *load <= OTHERS_MAX);
    let is_limit = case.still_grows() != Some(false);
    connections >= 2 && full == connections && !others.is_empty() && has_room && is_limit
}

fn too_few_connections(case: &Case<'_>, loads: &[f64]) -> Seen {
    let (connections, workers) = (case.point.connections.opened, loads.len());
    let others = percent(loads[connections as usize]);
    Seen::default()
        .with(
            Family::ThreadStates,
            "server",
            ("schedstat, syscall", ["server_threads"]),
            &format!("of {workers} workers, nearly always at work; the next one"),
            format!("{connections}; {others}"),
            "as many as connections; under 70 %",
        )
        .with(
            Family::QueueLocation,
            "client",
            "engine",
            "connections that carry all requests, for so many workers",
            format!("{connections} for {workers}"),
            "fewer than workers: some get none",
        )
        .saying(format!(
            "{connections} connections keep {connections} of {workers} workers busy; the others \
             have none"
        ))
        .fixed_by(more_connections(case))
}

/// CPU time that the busiest thread of each serving process needed, for processes with the same
/// name as the busiest: a helper process is not an idle worker, and neither is `acceptor`.
fn processes(threads: &[ThreadShare], acceptor: Option<u32>) -> Vec<f64> {
    let mut processes: BTreeMap<u32, &ThreadShare> = BTreeMap::new();
    for thread in threads.iter().filter(|thread| Some(thread.pid) != acceptor) {
        let busiest = processes.entry(thread.pid).or_insert(thread);
        if thread.wanted() > busiest.wanted() {
            *busiest = thread;
        }
    }
    let all = || processes.values().filter(|thread| thread.wanted() > SERVES);
    let busiest = all().max_by(|left, right| left.wanted().total_cmp(&right.wanted()));
    let Some(name) = busiest.map(|thread| stem(thread)) else { return Vec::new() };
    all().filter(|thread| stem(thread) == name).map(|thread| thread.wanted()).collect()
}

/// Name of a thread without its number.
fn stem(thread: &ThreadShare) -> &str {
    thread.name.trim_end_matches(|letter: char| letter.is_ascii_digit())
}

/// Time for which threads with the same name as the busiest had work, highest first.
fn threads_alike(case: &Case<'_>, threads: &[ThreadShare]) -> Vec<f64> {
    let is_queue = waits::of(case) == Waits::Yes;
    let at_work = |thread: &ThreadShare| {
        let doing = case.far().doing.as_ref().filter(|_| is_queue);
        doing.and_then(|doing| doing.at_work(thread.tid)).unwrap_or(0.0)
    };
    let load = |thread: &ThreadShare| match case.serves(thread) {
        true => thread.wanted().max(at_work(thread)),
        false => 0.0,
    };
    let busiest = threads.iter().max_by(|left, right| load(left).total_cmp(&load(right)));
    let Some(name) = busiest.map(stem) else { return Vec::new() };
    let alike = threads.iter().filter(|thread| stem(thread) == name);
    let mut loads: Vec<f64> = alike.map(load).collect();
    loads.order_by(|left, right| right.total_cmp(left));
    loads
}

#[cfg(test)]
pub(super) mod tests {
    use crate::case::Case;
    use crate::fixture::Fixture;
    use crate::walls::evidence_tests::Signs;
    use crate::walls::{Test, server_thread};
    use model::facts::ProcessFacts;
    use model::reading::Doing;
    use model::run::Point;

    pub const SIGNS: Signs = Signs {
        shown: |scene| {
            scene.fixture.server_threads(&[(7, 0.97), (8, 0.15)]);
            scene.fixture.unread_at_server(0.4);
        },
        without: &[
            ("a full worker", |scene| scene.fixture.server_threads(&[(7, 0.6), (8, 0.15)])),
            ("others with room", |scene| scene.fixture.server_threads(&[(7, 0.97), (8, 0.9)])),
            ("another worker", |scene| scene.fixture.server_threads(&[(7, 0.97)])),
            ("unread requests", |scene| scene.fixture.unread_at_server(0.0)),
        ],
    };

    #[test]
    fn one_hot_process_among_several_is_seen() {
        let mut fixture = Fixture::good();
        fixture.server_threads(&[(7, 0.001), (8, 0.97), (9, 0.15)]);
        fixture.unread_at_server(0.4);
        let Test::Seen(seen) = super::test(&fixture.case()) else { panic!("not seen") };
        assert_eq!(seen.families(), 2);
        assert!(seen.findings[1].evidence.value.contains("+0.59"), "{seen:?}");
        fixture.server_threads(&[(7, 0.001), (8, 0.97)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S2: the parent serves nothing");
        fixture.server_threads(&[(7, 0.97), (8, 0.96)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S1: both are full");
        fixture.server_threads(&[(8, 0.97), (9, 0.15)]);
        fixture.far().server_threads.as_mut().unwrap()[1].name = "helper".to_string();
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S2: a helper is no worker");
        fixture.server_threads(&[(8, 0.6), (8, 0.6), (9, 0.15)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "two threads, none of them full");
    }

    #[test]
    fn a_parent_that_accepts_for_the_others_is_no_worker() {
        let mut fixture = Fixture::good();
        fixture.server_threads(&[(7, 0.97), (8, 0.3), (9, 0.3)]);
        fixture.unread_at_server(0.4);
        let mut with = |held: [Option<u32>; 3]| {
            let process = |(pid, listeners)| ProcessFacts { pid, listeners, ..<_>::default() };
            let processes = (7..).zip(held).map(process).collect();
            fixture.server.as_mut().unwrap().processes = processes;
            (super::test(&fixture.case()), server_thread::test(&fixture.case()))
        };
        let (uneven, one_thread) = with([Some(1), Some(0), Some(0)]);
        assert_eq!(uneven, Test::NotSeen, "it hands its connections over");
        assert!(matches!(one_thread, Test::Seen(_)), "S2");
        let (Test::Seen(seen), _) = with([Some(1), Some(1), Some(1)]) else { panic!("not seen") };
        assert_eq!(seen.against.len(), 0, "it serves as they do");
        let (Test::Seen(seen), _) = with([None, None, None]) else { panic!("not seen") };
        assert!(seen.against[0].contains("S2"), "{seen:?}");
    }

    #[test]
    fn threads_with_listeners_of_their_own_are_workers_though_they_sleep_at_work() {
        let mut fixture = Fixture::good();
        let timer = |tid, doing| (tid, 0.01, doing, None);
        fixture.doing(&[timer(1, Doing::Timer), timer(2, Doing::Events)]);
        fixture.unread_at_server(0.4);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "one listener: S2 or A2");
        fixture.server.as_mut().unwrap().listeners = 2;
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.unread_at_server(0.0);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "nothing waits for the busy one");
        fixture.unread_at_server(0.4);
        fixture.doing(&[timer(1, Doing::Timer), timer(2, Doing::Timer)]);
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "A2: all sleep");
    }

    #[test]
    fn workers_that_no_connection_reaches_are_seen() {
        let mut fixture = Fixture::good();
        let busy = |tid, run| (tid, run, Doing::Events, None);
        fixture.doing(&[busy(1, 0.99), busy(2, 0.98), busy(3, 0.01)]);
        fixture.point.connections.opened = 2;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S1: they use both CPUs");
        fixture.host.cpus_online = vec![0, 1, 2, 3];
        fixture.server.as_mut().unwrap().cpus_allowed = vec![0, 1, 2, 3];
        assert!(matches!(super::test(&fixture.case()), Test::Seen(_)));
        fixture.point.load.connections = 2;
        let mut one = fixture.point.clone();
        one.load.connections = 1;
        let beside = |one: &Point| super::test(&Case { ramp: &[one], ..fixture.case() });
        assert_eq!(beside(&one), Test::NotSeen, "one connection is as fast");
        one.rate /= 2.0;
        assert!(matches!(beside(&one), Test::Seen(_)), "two are twice as fast");
        fixture.point.connections.opened = 3;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "each could have one");
        fixture.point.connections.opened = 1;
        assert_eq!(super::test(&fixture.case()), Test::NotSeen, "S2: one connection, one worker");
    }

    #[test]
    fn without_threads_it_is_untested() {
        let mut fixture = Fixture::good();
        fixture.unwatched();
        assert_eq!(super::test(&fixture.case()), Test::Untested);
    }
}
