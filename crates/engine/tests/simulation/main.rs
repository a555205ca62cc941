//! The whole worker in virtual time against servers that misbehave: nothing is ever lost.

mod streams;
mod users;

use engine::driver::sim::{Faults, StallPoint, Stalls};
use engine::job::Job;
use engine::schedule::Schedule;
use engine::shard::Shard;
use engine::simulate::{Account, Level, simulate};
use model::check::{Check, Checks};
use model::curve::Curve;
use model::load::{Hold, Life, Manner, Request, Retry, Spacing};
use model::tick::{Counters, ErrorClass, Starts, Turnover};
use std::sync::Arc;
use wire::tape::Tape;

const MS: u64 = 1_000_000;

fn request(path: &str, target: u32) -> Request {
    Request {
        method: "GET".to_string(),
        path: path.to_string(),
        host: "sim".to_string(),
        target,
        ..Request::default()
    }
}

fn job(seed: u64, level: &Level) -> Job {
    job_of(Tape::new(&[request("/", 0)], level.depth).unwrap(), seed, level)
}

/// Three targets with weights 3, 2 and 1; the bodies of the second must be short, and those of the
/// third must contain a text.
fn mix(depth: u32) -> Tape {
    let paths = ["/a", "/bbbb", "/a", "/ccccccccc", "/bbbb", "/a"];
    let targets = [0, 1, 0, 2, 1, 0];
    let requests: Vec<_> =
        paths.iter().zip(targets).map(|(path, target)| request(path, target)).collect();
    let short = Checks { length: "0..150".parse().ok(), ..Checks::default() };
    let text = Checks { body: "xxxxxxxxxxxxxxxx".parse().ok(), ..Checks::default() };
    Tape::new(&requests, depth).unwrap().with_checks(&[Checks::default(), short, text])
}

fn job_of(tape: Tape, seed: u64, level: &Level) -> Job {
    let retry = [Retry::Never, Retry::Idempotent, Retry::Any][seed as usize % 3];
    Job {
        connections_max: level.connections_max,
        depth_max: level.depth,
        timeout_ns: 40 * MS,
        connect_timeout_ns: 30 * MS,
        manner: Manner { retry_unprocessed: retry, ..Manner::default() },
        seed,
        ..Job::for_tests(tape)
    }
}

fn level(connections: u32, depth: u32) -> Level {
    Level {
        connections,
        connections_max: connections,
        depth,
        rate: None,
        life: Life::default(),
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

/// The laws that always hold.
fn assert_conserved(account: &Account, level: &Level, context: &str) {
    for counters in [&account.measured, &account.unmeasured] {
        assert_counted(counters, context);
    }
    assert_eq!(account.latency.count, account.measured.completed, "{context}: latencies");
    let Turnover { begun, established, failed, closed_by_us, closed_by_peer, .. } =
        account.turnover;
    let connections = account.connections;
    assert_eq!(begun, established + failed + connections.opening, "{context}: attempts");
    let ended = closed_by_us + closed_by_peer;
    assert_eq!(established, ended + connections.open, "{context}: connections");
    assert_eq!(account.begun_after, 0, "{context}: a device began after the end");
    let completed = account.measured.completed + account.unmeasured.completed;
    assert!(account.arrived <= completed, "{context}: arrived");
    if level.rate.is_some() && level.life.hold.is_some() {
        assert_started(account, context);
    } else if level.rate.is_some() {
        let Counters { sent, completed, unsent, unanswered, errors, .. } = account.measured;
        assert_eq!(account.service.count, completed, "{context}: service");
        assert_eq!(account.send_delay.count, sent, "{context}: send delay");
        assert_eq!(account.generator_delay.count, sent, "{context}: generator_delay");
        let without = unsent + unanswered + errors.get(ErrorClass::Timeout);
        assert_eq!(account.at_least.count, without, "{context}: lower bounds");
    } else {
        assert_eq!(account.measured.unsent, 0, "{context}: nothing was planned");
    }
    let sent = |of: &Counters| of.sent + of.retried;
    let sent = sent(&account.measured) + sent(&account.unmeasured);
    assert!(account.witness.requests <= sent, "{context}: the server saw more than was sent");
    let completed = account.measured.completed + account.unmeasured.completed;
    assert!(completed <= account.witness.good_responses, "{context}: a response was invented");
    let mismatches = |counters: &Counters| counters.mismatches.sum();
    let completed = completed + mismatches(&account.measured) + mismatches(&account.unmeasured);
    let late = account.measured.unanswered + account.unmeasured.unanswered;
    // In open loop a connection may be idle, and what arrives then answers nothing.
    let unasked = if level.rate.is_some() { account.witness.unsolicited } else { 0 };
    let accounted = completed + late + unasked;
    assert!(accounted >= account.witness.good_responses, "{context}: a response was lost");
    let limit = u128::from(level.connections_max * level.depth);
    // A stall may lengthen the window.
    let elapsed_ns = u128::from(level.window_ns.max(1) + 10 * MS);
    if level.budget.is_none() {
        let bound = limit * (elapsed_ns + u128::from(2 * MS));
        assert!(account.accounting.in_flight_ns <= bound, "{context}: in flight");
    }
}

/// The laws of connections that start on a schedule.
fn assert_started(account: &Account, context: &str) {
    let Starts { begun, established, failed, pending, waited, .. } = account.starts;
    assert_eq!(begun, established + failed + pending, "{context}: begun connections");
    assert!(waited <= begun, "{context}: waited");
    let found = [&account.planned_connect, &account.service].map(|times| times.count);
    assert_eq!(found, [established; 2], "{context}: times to connect");
    assert!(account.send_delay.count <= begun, "{context}: send delays");
    assert_eq!(account.send_delay.count, account.generator_delay.count, "{context}: delays");
    assert!(established <= account.turnover.established, "{context}: {:?}", account.turnover);
    assert_eq!(account.measured.unsent, 0, "{context}: no request was planned");
}

/// Every connection that is due on the schedule of a seed was begun, or counts as unsent.
fn assert_planned(account: &Account, level: &Level, seed: u64) {
    let Some((rate, spacing)) = level.rate.filter(|_| level.life.hold.is_some()) else { return };
    let mut schedule =
        Schedule::new(&Arc::new(Curve::constant(rate)), spacing, seed, Shard::whole());
    let due = std::iter::from_fn(|| schedule.next_ns());
    let planned = due.take_while(|due_ns| *due_ns < level.window_ns).count() as u64;
    let Starts { begun, unsent, .. } = account.starts;
    assert_eq!(begun + unsent, planned, "seed {seed}: {:?}", account.starts);
}

/// The laws of one account.
fn assert_counted(counters: &Counters, context: &str) {
    let Counters { sent, completed, failed, unanswered, status, errors, .. } = counters;
    let mismatched = counters.mismatches.sum();
    assert_eq!(*sent, completed + failed + unanswered, "{context}: requests");
    assert_eq!(completed + mismatched, status[0] + status[1], "{context}: good responses");
    let failures = status[2] + status[3] + mismatched + errors.requests();
    assert_eq!(*failed, failures, "{context}: failures");
}

/// The laws of the accounts by target: together they are the account of the whole.
fn assert_divided(account: &Account, context: &str) {
    let mut sum = Counters::default();
    for (counters, latency) in &account.targets {
        assert_counted(counters, context);
        assert_eq!(latency.count, counters.completed, "{context}: latencies of a target");
        sum += counters;
    }
    // Failed attempts to connect belong to no target.
    let mut whole = account.measured;
    whole.errors = sum.errors;
    // Nor do counts of the schedule; what responses consist of is counted for the whole alone.
    (whole.unsent, whole.waited, whole.limited, whole.renewed) = (0, 0, 0, 0);
    whole.parts = sum.parts;
    // A request that is sent again belongs to its target once.
    assert!(whole.bytes_sent == sum.bytes_sent || whole.retried > 0, "{context}: bytes of targets");
    (whole.retried, whole.bytes_sent) = (0, sum.bytes_sent);
    assert_eq!(sum, whole, "{context}: targets");
    assert_eq!(sum.errors.requests(), account.measured.errors.requests(), "{context}: errors");
}

/// Numbers below a bound, drawn from a seed.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % bound
    }
}

/// A generator that stands still now and then, or none.
fn stalls(next: &mut impl FnMut(u64) -> u64) -> Option<Stalls> {
    if next(4) != 0 {
        return None;
    }
    let during = if next(2) == 0 { StallPoint::Turn } else { StallPoint::Wait };
    let (every_ns, length_ns) = ((5 + next(50)) * MS, next(10) * MS);
    Some(Stalls { every_ns, length_ns, during })
}

/// A load of up to so many connections and requests on each.
fn load(next: &mut impl FnMut(u64) -> u64, connections: u64, depth: u64) -> Level {
    let mut level = level(1 + next(connections) as u32, 1 + next(depth) as u32);
    if next(2) == 0 {
        let spacing = [Spacing::Fixed, Spacing::Poisson, Spacing::Uniform][next(3) as usize];
        level.rate = Some((1_000.0 + next(40_000) as f64, spacing));
        level.connections_max += next(10) as u32;
    }
    if next(3) == 0 {
        let least = 1 + next(5) as u32;
        level.life.requests = Some((least, least + 1 + next(20) as u32));
    }
    level
}

/// Makes devices of the connections of a level.
fn hold(next: &mut impl FnMut(u64) -> u64, level: &mut Level) {
    let ns = next(20) * MS;
    let hold = if next(4) == 0 { Hold::Forever } else { Hold::For { ns, jitter: 0.5 } };
    level.life.hold = Some(hold);
    (level.life.ramp_up_ns, level.life.ramp_down_ns) = (next(30) * MS, next(30) * MS);
}

/// A server drawn from a seed: most are mildly bad, some are terrible.
fn drawn(seed: u64) -> (Level, Faults) {
    let mut next = draws(seed);
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
        last_response: fault(),
        pieces: fault() * 4,
        bytewise: fault() / 2,
        unsolicited: fault() / 2,
        empty_line: fault() * 2,
        service_ns: (0, 0),
        stalls: None,
    };
    faults.service_ns = (10_000, 20_000 + next(3_000_000));
    faults.stalls = stalls(&mut next);
    let mut level = load(&mut next, 20, 20);
    if next(3) == 0 {
        hold(&mut next, &mut level);
    }
    // A device may never send all of a budget.
    if next(4) == 0 && level.life.hold.is_none() {
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
        assert_planned(&account, &level, seed);
        completed += account.measured.completed;
    }
    assert!(completed > 100_000, "the servers did answer: {completed}");
}

#[test]
fn a_thousand_bad_servers_lose_nothing_of_a_checked_mix() {
    let mut mismatched = [0, 0];
    for seed in 0..1000 {
        let (level, faults) = drawn(seed);
        let account = simulate(&job_of(mix(level.depth), seed, &level), level, faults);
        assert_conserved(&account, &level, &format!("seed {seed}"));
        assert_divided(&account, &format!("seed {seed}"));
        let targets = &account.targets;
        assert_eq!(targets[0].0.mismatches.sum(), 0, "the first target has no checks");
        mismatched[0] += targets[1].0.mismatches.get(Check::Length);
        mismatched[1] += targets[2].0.mismatches.get(Check::Body);
    }
    assert!(mismatched.iter().all(|count| *count > 1000), "checks did fail: {mismatched:?}");
}

#[test]
fn a_connection_for_each_request_still_walks_the_whole_tape() {
    let faults = Faults { last_response: 1000, service_ns: (10_000, 10_000), ..Faults::default() };
    let level = Level { budget: Some(60), warmup_ns: 0, ..level(1, 1) };
    let account = simulate(&job_of(mix(1), 5, &level), level, faults);
    let sent: Vec<_> = account.targets.iter().map(|(counters, _)| counters.sent).collect();
    assert_eq!((account.connections.reopened >= 59, sent), (true, vec![30, 20, 10]));
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
fn a_server_that_never_responds_is_not_a_fast_one() {
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

    let faults = Faults { last_response: 1000, service_ns: (MS, MS), ..Faults::default() };
    let account = run(1, level(10, 1), faults);
    let connections = account.connections;
    assert_eq!((connections.opened, connections.failed), (10, 0));
    let reopened = account.measured.completed + account.unmeasured.completed;
    assert!(connections.reopened.abs_diff(reopened) <= 10, "a new connection per response");
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

/// A server that answers `MS` after the last response on the same connection.
fn steady() -> Faults {
    Faults { service_ns: (MS, MS), ..Faults::default() }
}

#[test]
fn an_open_loop_sends_exactly_what_was_planned() {
    for spacing in [Spacing::Fixed, Spacing::Uniform, Spacing::Poisson] {
        let level = Level { rate: Some((2_000.0, spacing)), ..level(20, 1) };
        let account = run(4, level, steady());
        let Counters { sent, completed, unsent, .. } = account.measured;
        assert_eq!((sent, unsent), (completed, 0), "{spacing:?}");
        // 200 are due in a tenth of a second; Poisson varies by 14.
        let allowed = if spacing == Spacing::Fixed { 0 } else { 60 };
        assert!(sent.abs_diff(200) <= allowed, "{spacing:?}: {sent}");
        // A turn of the simulated worker takes half a microsecond.
        assert!(
            account.generator_delay.max.unwrap() < 5_000,
            "{spacing:?}: {:?}",
            account.generator_delay
        );
    }
}

#[test]
fn a_server_slower_than_the_rate_makes_requests_wait_and_nobody_is_late() {
    // Four connections serve 4,000/s; 8,000/s are due for a tenth of a second.
    let level = Level { rate: Some((8_000.0, Spacing::Fixed)), warmup_ns: 0, ..level(4, 1) };
    let account = run(5, level, steady());
    let Counters { sent, unsent, completed, waited, .. } = account.measured;
    assert_eq!(sent + unsent, 800, "every planned request is one or the other");
    assert!(completed.abs_diff(400) <= 8, "{completed}");
    assert!(waited.abs_diff(800) < 410 && waited <= sent, "{waited} of {sent}");
    // The queue grows by one for every second request: the last sent was due 50 ms before.
    let near = |value: Option<u64>, ns: u64| value.is_some_and(|value| value.abs_diff(ns) < 3 * MS);
    assert!(near(account.send_delay.max, 49 * MS), "{:?}", account.send_delay);
    assert!(near(account.service.max, MS), "{:?}", account.service);
    assert!(account.generator_delay.max.unwrap() < 5_000, "{:?}", account.generator_delay);
    // Requests that were never sent have waited up to 50 ms at the end of the window.
    assert!(near(account.at_least.max, 50 * MS), "{:?}", account.at_least);
    assert_eq!(account.at_least.count, unsent);
}

#[test]
fn latency_counts_from_the_plan_through_a_stall() {
    // One connection, one request per millisecond, each served in 2 ms: the n-th waits n ms.
    let rate = Some((1_000.0, Spacing::Fixed));
    let level = Level { rate, warmup_ns: 0, drain_ns: 200 * MS, ..level(1, 100) };
    let faults = Faults { service_ns: (2 * MS, 2 * MS), ..Faults::default() };
    let patient = Job { timeout_ns: 500 * MS, ..job(6, &level) };
    let account = simulate(&patient, level, faults);
    assert_eq!((account.measured.completed, account.measured.unsent), (100, 0));
    assert_eq!(account.measured.waited, 0, "all were sent behind one another");
    let latency = &account.latency;
    assert!(latency.min.unwrap().abs_diff(2 * MS) < 10_000, "{latency:?}");
    assert!(latency.p50.unwrap().abs_diff(51 * MS) < 2 * MS, "{latency:?}");
    assert!(latency.max.unwrap().abs_diff(101 * MS) < MS, "{latency:?}");
}

/// Three generators: one is held up for 10 ms every 25 ms in its turn, one in a wait, one not at
/// all. All connections are in use, because the rate is twice what the server does.
#[test]
fn a_generator_that_is_held_up_is_late_though_every_connection_is_in_use() {
    let generator_delay = |during: Option<StallPoint>| {
        let stalls = during.map(|during| Stalls { every_ns: 15 * MS, length_ns: 10 * MS, during });
        let level = Level { rate: Some((8_000.0, Spacing::Fixed)), warmup_ns: 0, ..level(4, 1) };
        let account = run(5, level, Faults { stalls, ..steady() });
        assert!(account.measured.waited > 100, "{:?}", account.measured);
        assert_eq!(account.witness.stalls > 2, during.is_some(), "{:?}", account.witness);
        account.generator_delay
    };
    assert!(generator_delay(None).max.unwrap() < 5_000, "{:?}", generator_delay(None));
    for during in [StallPoint::Turn, StallPoint::Wait] {
        let late = generator_delay(Some(during));
        // A stall inside a sleep shows, except for the length of that sleep.
        assert!(late.max.unwrap() > 8 * MS, "{during:?}: {late:?}");
        assert!(late.max.unwrap() < 12 * MS, "{during:?}: {late:?}");
        // Waiting for the server between two stalls does not count as generator delay.
        assert!(late.p50.unwrap() < MS / 2, "{during:?}: {late:?}");
    }
}

/// Four requests are on their way behind a response that announces the end.
#[test]
fn requests_behind_an_announced_end_are_unprocessed_and_sent_again_when_allowed() {
    let level = Level { drain_ns: 60 * MS, ..level(4, 8) };
    let faults = Faults { last_response: 100, ..steady() };
    for (seed, retry) in [(3, Retry::Never), (4, Retry::Idempotent), (5, Retry::Any)] {
        assert_eq!(job(seed, &level).manner.retry_unprocessed, retry);
        let account = run(seed, level, faults);
        assert_conserved(&account, &level, "retries");
        let Counters { sent, completed, failed, retried, errors, .. } = account.measured;
        let unprocessed = errors.get(ErrorClass::Unprocessed);
        assert_eq!(failed, unprocessed, "nothing else fails: {errors:?}");
        let is_again = retry != Retry::Never;
        assert_eq!((unprocessed == 0, retried > 0), (is_again, is_again), "{retry:?}: {retried}");
        assert_eq!(completed == sent, is_again, "{retry:?}: {completed} of {sent}");
    }
}

#[test]
fn a_drain_as_long_as_the_time_out_leaves_nothing_unanswered() {
    // Up to 39 ms of service, and requests may take 40 ms: all have a fate, and nearly all a
    // response.
    let faults = Faults { service_ns: (MS, 39 * MS), silent: 20, ..Faults::default() };
    for rate in [None, Some((200.0, Spacing::Poisson))] {
        let level = Level { rate, drain_ns: 50 * MS, ..level(10, 1) };
        let account = run(12, level, faults);
        assert_conserved(&account, &level, "drain");
        let Counters { sent, completed, failed, unanswered, errors, .. } = account.measured;
        assert_eq!((unanswered, failed), (0, errors.get(ErrorClass::Timeout)), "{rate:?}");
        assert!(completed > 10 && sent == completed + failed, "{:?}", account.measured);
        // It ends when nothing is in flight, with the last timeout at the latest.
        assert!(account.drained_ns < 46 * MS, "{}", account.drained_ns);
    }
    let quick = run(12, Level { drain_ns: 50 * MS, ..level(10, 1) }, steady());
    assert!(quick.drained_ns <= MS + 10_000, "{}", quick.drained_ns);
}

#[test]
fn a_budget_is_that_many_fates_and_the_last_of_them_ends_the_window() {
    let quick = Faults { service_ns: (100_000, 200_000), ..Faults::default() };
    let bad = [
        Faults { error_status: 500, ..quick },
        Faults { silent: 200, ..quick },
        Faults { reset: 300, cut: 300, ..quick },
        Faults { garbage: 500, last_response: 300, ..quick },
    ];
    for (index, faults) in bad.into_iter().enumerate() {
        let budget = Some(100);
        let level = Level { budget, warmup_ns: 0, drain_ns: 60 * MS, ..level(10, 1) };
        let account = run(index as u64, level, faults);
        let Counters { sent, completed, failed, unanswered, .. } = account.measured;
        assert_eq!((sent, completed + failed, unanswered), (100, 100, 0), "{faults:?}");
        assert!(failed > 10, "{faults:?}: {failed}");
        if faults.silent > 0 {
            // Some connections have several silent requests, one after another.
            let last_ns = account.last_fate_ns;
            assert!((40 * MS..300 * MS).contains(&last_ns), "{last_ns}");
        }
    }
}

#[test]
fn empty_lines_between_responses_are_passed_over_and_other_bytes_are_counted() {
    for depth in [1, 2] {
        let lines = Faults { empty_line: 1000, ..steady() };
        let account = run(13, level(4, depth), lines);
        assert_conserved(&account, &level(4, depth), "empty lines");
        let (connections, measured) = (account.connections, account.measured);
        assert_eq!((connections.unsolicited, connections.reopened), (0, 0), "depth {depth}");
        assert_eq!((measured.failed, measured.unanswered), (0, 0), "depth {depth}");
        assert!(measured.completed > 350, "depth {depth}: {measured:?}");
    }
    // In open loop most connections are idle when the second response comes.
    let level = Level { rate: Some((500.0, Spacing::Fixed)), ..level(20, 1) };
    let account = run(13, level, Faults { unsolicited: 300, ..steady() });
    assert_conserved(&account, &level, "unsolicited");
    let seen = account.connections.unsolicited;
    assert!(seen > 5 && seen <= account.witness.unsolicited, "{seen}: {:?}", account.witness);
    assert!(account.accounting.stray_bytes >= 40 * seen, "{:?}", account.accounting);
}

#[test]
fn waiting_requests_open_connections_up_to_the_limit() {
    let rate = Some((8_000.0, Spacing::Fixed));
    let level = Level { rate, connections_max: 12, ..level(2, 1) };
    let account = run(7, level, steady());
    let opened = account.connections.opened;
    assert!((8..=12).contains(&opened), "8,000/s of 1 ms each need eight: {opened}");
    assert_eq!(account.measured.unsent, 0, "{:?}", account.measured);
    let level = Level { rate: Some((1_000.0, Spacing::Fixed)), ..level };
    let account = run(7, level, steady());
    assert!(account.connections.opened <= 3, "two nearly are: {:?}", account.connections);
}

#[test]
fn an_open_budget_is_sent_exactly() {
    let rate = Some((5_000.0, Spacing::Poisson));
    let level = Level { rate, budget: Some(321), warmup_ns: 0, ..level(30, 1) };
    let account = run(8, level, steady());
    assert_eq!((account.measured.sent, account.measured.completed), (321, 321));
    assert_eq!(account.measured.unsent, 0);
}

#[test]
fn a_late_open_budget_leaves_nothing_unsent() {
    // One connection of 1 ms for 5,000/s: when the last request of the budget leaves, the schedule
    // is hundreds of requests ahead, none of which was to be sent.
    let rate = Some((5_000.0, Spacing::Fixed));
    let level = Level { rate, budget: Some(200), warmup_ns: 0, ..level(1, 1) };
    let account = run(8, level, steady());
    assert_eq!((account.measured.sent, account.measured.completed), (200, 200));
    assert_eq!((account.measured.unsent, account.at_least.count), (0, 0));
    assert!(account.latency.p50.is_some(), "no request is missing: {:?}", account.latency);
}

#[test]
fn devices_hold_close_and_begin_anew() {
    let hold = Some(Hold::For { ns: 10 * MS, jitter: 0.05 });
    let life = Life { requests: Some((1, 1)), hold, ramp_up_ns: 10 * MS, ramp_down_ns: 10 * MS };
    let level = Level { life, drain_ns: 50 * MS, ..level(40, 1) };
    let account = run(9, level, steady());
    let Turnover { begun, established, failed, closed_by_us, closed_by_peer, .. } =
        account.turnover;
    // About 130 ms from the first start to the last end, each device about every 10 ms.
    assert!((420..600).contains(&established), "{:?}", account.turnover);
    assert_eq!((begun, failed, closed_by_peer), (established, 0, 0));
    assert_eq!((closed_by_us, account.connections.open), (established, 0), "all ended in order");
    let sent = account.measured.sent + account.unmeasured.sent;
    assert!(established - sent <= 40 && sent <= established, "one request each: {sent}");
    assert_eq!(account.measured.failed, 0);
}

#[test]
fn devices_begin_when_they_are_due() {
    let hold = Some(Hold::For { ns: 5 * MS, jitter: 0.0 });
    let life = Life { requests: Some((0, 0)), hold, ramp_up_ns: 20 * MS, ramp_down_ns: 0 };
    let rate = Some((2_000.0, Spacing::Fixed));
    let account = run(12, Level { life, rate, drain_ns: 50 * MS, ..level(40, 1) }, steady());
    let starts = account.starts;
    assert_eq!((starts.begun, starts.established, starts.waited), (200, 200, 0), "{starts:?}");
    // A ramp-up of 20 ms from nothing to 2000/s, which starts when its order is seen.
    assert!((218..=220).contains(&account.turnover.established), "{:?}", account.turnover);
    let latest_ns = account.generator_delay.max.unwrap();
    assert!(latest_ns < 10_000, "on time: {latest_ns}");
    // Connecting takes 20 to 200 us in the simulated world.
    let connect = &account.planned_connect;
    assert!(connect.min >= Some(20_000) && connect.max < Some(220_000), "{connect:?}");
}

#[test]
fn connections_that_find_no_device_wait_and_are_counted() {
    let hold = Some(Hold::For { ns: 20 * MS, jitter: 0.0 });
    let life = Life { requests: Some((0, 0)), hold, ..Life::default() };
    let rate = Some((1_000.0, Spacing::Fixed));
    // Ten devices of 20 ms each make 500 connections per second.
    let account = run(13, Level { life, rate, drain_ns: 50 * MS, ..level(10, 1) }, steady());
    let starts = account.starts;
    assert_eq!(starts.begun + starts.unsent, 100, "{starts:?}");
    assert!((40..=60).contains(&starts.begun) && starts.waited > 30, "{starts:?}");
    assert!(account.planned_connect.max > Some(40 * MS), "waits count: {account:?}");
    assert!(account.service.max < Some(MS), "and are no time to connect");
}

#[test]
fn idle_devices_are_held_and_closed() {
    let life = Life {
        requests: Some((0, 0)),
        hold: Some(Hold::Forever),
        ramp_up_ns: 20 * MS,
        ramp_down_ns: 30 * MS,
    };
    let account = run(10, Level { life, drain_ns: 100 * MS, ..level(500, 1) }, steady());
    let Turnover { established, closed_by_us, .. } = account.turnover;
    assert_eq!((established, closed_by_us, account.measured.sent), (500, 500, 0));
}

#[test]
fn a_cap_on_requests_makes_new_connections() {
    let life = Life { requests: Some((5, 5)), ..Life::default() };
    for depth in [1, 3] {
        let account = run(11, Level { life, warmup_ns: 0, ..level(4, depth) }, steady());
        let Counters { sent, completed, failed, .. } = account.measured;
        assert_eq!((sent, failed), (completed, 0), "depth {depth}");
        let expected = sent.div_ceil(5);
        let established = account.turnover.established;
        assert!(established.abs_diff(expected) <= 8, "depth {depth}: {established} for {sent}");
    }
}
