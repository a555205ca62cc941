//! The whole worker in virtual time against servers that misbehave: nothing is ever lost.

use engine::driver::sim::Faults;
use engine::job::Job;
use engine::simulate::{Account, Level, simulate};
use model::load::{DriverKind, Request};
use model::tick::{Counters, ErrorClass};
use std::sync::Arc;
use wire::tape::Tape;

const MS: u64 = 1_000_000;

fn job(seed: u64, level: &Level) -> Job {
    let request = Request {
        method: "GET".to_string(),
        path: "/".to_string(),
        host: "sim".to_string(),
        headers: vec![],
        body: vec![],
    };
    Job {
        driver: DriverKind::Sim,
        addresses: vec![([127, 0, 0, 1], 1).into()],
        tape: Arc::new(Tape::new(&[request], level.depth).unwrap()),
        threads: 1,
        cpus: vec![],
        connections_max: level.connections,
        depth_max: level.depth,
        timeout_ns: 40 * MS,
        connect_timeout_ns: 30 * MS,
        coalesce_ns: 0,
        seed,
    }
}

fn level(connections: u32, depth: u32) -> Level {
    Level {
        connections,
        depth,
        connect_ns: 5 * MS,
        warmup_ns: 20 * MS,
        window_ns: 100 * MS,
        budget: None,
        drain_ns: 20 * MS,
    }
}

fn run(seed: u64, level: Level, faults: Faults) -> Account {
    simulate(&job(seed, &level), level, faults)
}

/// The laws that hold whatever happens.
fn assert_conserved(account: &Account, level: &Level, context: &str) {
    for counters in [&account.measured, &account.unmeasured] {
        let Counters { sent, completed, failed, unanswered, status, errors, .. } = counters;
        assert_eq!(*sent, completed + failed + unanswered, "{context}: requests");
        assert_eq!(*completed, status[0] + status[1], "{context}: good answers");
        assert_eq!(*failed, status[2] + status[3] + errors.requests(), "{context}: failures");
    }
    assert_eq!(account.latency.count, account.measured.completed, "{context}: latencies");
    let sent = account.measured.sent + account.unmeasured.sent;
    assert!(account.witness.requests <= sent, "{context}: the server saw more than was sent");
    let completed = account.measured.completed + account.unmeasured.completed;
    assert!(completed <= account.witness.good_answers, "{context}: an answer was invented");
    let late = account.measured.unanswered + account.unmeasured.unanswered;
    assert!(completed + late >= account.witness.good_answers, "{context}: an answer was lost");
    let limit = u128::from(level.connections * level.depth);
    let elapsed_ns = u128::from(level.window_ns.max(1));
    if level.budget.is_none() {
        let bound = limit * (elapsed_ns + u128::from(2 * MS));
        assert!(account.accounting.in_flight_ns <= bound, "{context}: in flight");
    }
}

/// A server drawn from a seed: most are mildly bad, some are terrible.
fn drawn(seed: u64) -> (Level, Faults) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % bound
    };
    let mut fault = || if next(3) == 0 { next(200) } else { next(5) };
    let mut faults = Faults {
        refused: fault(),
        no_port: fault(),
        unheard: fault(),
        partial_send: fault() * 3,
        reset: fault(),
        cut: fault(),
        silent: fault() / 4,
        garbage: fault(),
        error_status: fault(),
        chunked: fault() * 4,
        until_close: fault(),
        last_answer: fault(),
        pieces: fault() * 4,
        bytewise: fault() / 2,
        unsolicited: fault() / 2,
        service_ns: (0, 0),
    };
    faults.service_ns = (10_000, 20_000 + next(3_000_000));
    let mut level = level(1 + next(20) as u32, 1 + next(20) as u32);
    if next(4) == 0 {
        level.budget = Some(1 + next(2000));
    }
    if next(3) == 0 {
        level.warmup_ns = 0;
    }
    (level, faults)
}

#[test]
fn a_thousand_bad_servers_lose_nothing() {
    let mut completed = 0;
    for seed in 0..1000 {
        let (level, faults) = drawn(seed);
        let account = run(seed, level, faults);
        assert_conserved(&account, &level, &format!("seed {seed}"));
        completed += account.measured.completed;
    }
    assert!(completed > 100_000, "the servers did answer: {completed}");
}

#[test]
fn the_same_seed_gives_the_same_account() {
    for seed in 0..50 {
        let (level, faults) = drawn(seed);
        assert_eq!(run(seed, level, faults), run(seed, level, faults), "seed {seed}");
    }
    let (level, faults) = drawn(1);
    assert_ne!(run(1, level, faults), run(2, level, faults), "seeds matter");
}

#[test]
fn latency_is_the_service_time_exactly() {
    let faults = Faults { service_ns: (MS, MS), ..Faults::default() };
    let account = run(1, level(4, 1), faults);
    // Virtual turns take half a microsecond, and buckets are a thousandth wide.
    let near = |value: Option<u64>| value.is_some_and(|ns| ns.abs_diff(MS) <= 3_000);
    let latency = &account.latency;
    assert!(near(latency.min) && near(latency.p50) && near(latency.max), "{latency:?}");
    assert!(account.measured.completed >= 4 * 98, "one per millisecond and connection");
    assert_eq!(account.measured.failed + account.measured.unanswered, 0);
}

#[test]
fn a_pipelined_request_waits_for_those_before_it() {
    let faults = Faults { service_ns: (MS, MS), ..Faults::default() };
    let account = run(1, level(1, 16), faults);
    let latency = &account.latency;
    let mean = latency.mean.unwrap();
    assert!(mean.abs_diff(16 * MS) < MS, "sixteen places, one served per millisecond: {latency:?}");
}

#[test]
fn a_budget_is_spent_exactly_and_nothing_is_left() {
    let faults = Faults { service_ns: (10_000, 100_000), ..Faults::default() };
    for (connections, depth, budget) in [(1, 1, 1), (3, 4, 1000), (50, 2, 7)] {
        let level = Level { budget: Some(budget), warmup_ns: 0, ..level(connections, depth) };
        let account = run(9, level, faults);
        assert_eq!((account.measured.sent, account.measured.completed), (budget, budget));
        assert_eq!(account.unmeasured.sent, 0);
        assert_eq!(account.witness.requests, budget);
    }
}

#[test]
fn a_server_that_never_answers_is_not_a_fast_one() {
    let faults = Faults { silent: 1000, service_ns: (MS, MS), ..Faults::default() };
    let level = Level { window_ns: 30 * MS, drain_ns: 5 * MS, ..level(10, 1) };
    let account = run(1, level, faults);
    assert_eq!(account.measured.completed, 0);
    let lost = account.measured.errors.get(ErrorClass::Timeout) + account.measured.unanswered;
    assert_eq!(lost, account.measured.sent);
    assert_eq!(account.latency.p50, None);
}

#[test]
fn connections_are_accounted_for() {
    let faults = Faults { refused: 1000, ..Faults::default() };
    let account = run(1, level(10, 1), faults);
    let connections = account.connections;
    assert_eq!((connections.opened, connections.failed), (0, 10));
    assert!(account.measured.errors.get(ErrorClass::Connect) >= 10);
    assert_eq!(account.measured.sent, 0);

    let faults = Faults { last_answer: 1000, service_ns: (MS, MS), ..Faults::default() };
    let account = run(1, level(10, 1), faults);
    let connections = account.connections;
    assert_eq!((connections.opened, connections.failed), (10, 0));
    let reopened = account.measured.completed + account.unmeasured.completed;
    assert!(connections.reopened.abs_diff(reopened) <= 10, "a new connection per answer");
    assert_eq!(account.measured.failed, 0, "an announced end is not a failure");
}

#[test]
fn in_flight_obeys_littles_law() {
    let faults = Faults { service_ns: (MS, 3 * MS), ..Faults::default() };
    let level = level(8, 2);
    let account = run(3, level, faults);
    let mean_in_flight = account.accounting.in_flight_ns as f64 / level.window_ns as f64;
    let rate = account.measured.completed as f64 / level.window_ns as f64;
    let ratio = rate * account.latency.mean.unwrap() as f64 / mean_in_flight;
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}
