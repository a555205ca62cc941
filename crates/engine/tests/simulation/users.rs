//! Users of a flow in virtual time against a shop that misbehaves: every user and every step has
//! one end, and no user gets what is another's.

use engine::driver::sim::shop::{PATHS, ShopFaults, ShopLog};
use engine::driver::sim::{StallPoint, Stalls};
use engine::job::Job;
use engine::simulate::{Account, Level, simulate_users, window_begin_ns};
use model::flow::{
    Assert, Capture, Comparison, Escape, Flow, Found, Key, Operand, Piece, Query, Skip, Source,
    Step, Test, Text, Variable,
};
use model::histogram::Summary;
use model::load::{Life, Spacing};
use model::users::{UserInfo, UserTally};
use std::sync::Arc;
use wire::fill::VALUES_BYTES;
use wire::program::Program;

const MS: u64 = 1_000_000;
/// Time to think before the second step.
const THINK_NS: u64 = 3 * MS;
/// Where the requests for each path are in the account: the one before the last is left out.
const PLACES: [usize; PATHS.len()] = [0, 1, 2, 3, 5];
const LEFT_OUT: usize = 4;
/// Repetitions of the last step.
const REPEAT: u64 = 2;

fn step(method: &str, path: &str) -> Step {
    Step { statuses: "200".parse().ok(), ..Step::new(method, Text::plain(path)) }
}

fn found() -> Found {
    Found { query: 0, filters: Vec::new() }
}

/// A path with the token of the user.
fn with_token(path: &str) -> Text {
    let hole = Piece::Hole(Source::Variable(0), Escape::Url);
    Text(vec![Piece::Plain(format!("{path}?t=").into()), hole])
}

fn name(text: &str) -> Key {
    Key::Name(text.into())
}

fn flow() -> Flow {
    let capture = |variable| vec![Capture { variable, from: found(), line: 1 }];
    let token = Operand::Text(Text(vec![Piece::Hole(Source::Variable(0), Escape::Raw)]));
    let equal = Assert {
        of: found(),
        is_not: false,
        test: Test::Compare(Comparison::Equal, token),
        text: String::new(),
        line: 1,
    };
    let mut numbered = with_token(PATHS[4]);
    numbered.push_plain(b"&n=");
    numbered.push(&Text(vec![Piece::Hole(Source::Variable(2), Escape::Url)]));
    let id = Query::Json(vec![name("items"), Key::Nth(1), name("id")]);
    let steps = vec![
        Step {
            delay_ns: MS,
            body: Text::plain("{\"user\": \"ann\"}"),
            queries: vec![Query::Json(vec![name("token")])],
            captures: capture(0),
            ..step("POST", PATHS[0])
        },
        Step {
            path: with_token(PATHS[1]),
            delay_ns: THINK_NS,
            queries: vec![Query::Json(vec![name("you")])],
            asserts: vec![equal],
            ..step("GET", PATHS[1])
        },
        Step {
            path: with_token(PATHS[2]),
            redirects_max: 3,
            queries: vec![id],
            captures: capture(1),
            ..step("POST", PATHS[2])
        },
        // Never taken, and never waited for.
        Step { skip: Skip::When(Text::plain("true")), delay_ns: 100 * MS, ..step("GET", "/never") },
        Step {
            path: numbered,
            sets: vec![(2, Text(vec![Piece::Hole(Source::Seq, Escape::Raw)]))],
            repeat: REPEAT as u32,
            ..step("GET", PATHS[4])
        },
    ];
    let variable = |name: &str| Variable { name: name.into(), is_secret: false };
    Flow {
        name: "shop".into(),
        steps,
        variables: vec![variable("token"), variable("id"), variable("n")],
        base: "http://sim".into(),
    }
}

fn level(users: u32, warmup_ns: u64) -> Level {
    Level {
        connections: users,
        connections_max: users,
        depth: 1,
        rate: None,
        life: Life::default(),
        connect_ns: 5 * MS,
        warmup_ns,
        window_ns: 120 * MS,
        budget: None,
        drain_ns: 300 * MS,
    }
}

fn ran(seed: u64, level: Level, faults: ShopFaults) -> (Account, UserTally, ShopLog) {
    ran_of(flow(), seed, level, faults)
}

fn ran_of(
    flow: Flow,
    seed: u64,
    level: Level,
    faults: ShopFaults,
) -> (Account, UserTally, ShopLog) {
    ran_after(&[], (flow, seed), level, faults)
}

fn ran_after(
    before: &[Level],
    (flow, seed): (Flow, u64),
    level: Level,
    faults: ShopFaults,
) -> (Account, UserTally, ShopLog) {
    let program = Program::new(flow, "2026-11-30T00:00:00Z".into()).unwrap();
    let job = Job {
        connections_max: level.connections_max,
        timeout_ns: 40 * MS,
        connect_timeout_ns: 30 * MS,
        seed,
        ..Job::for_tests(program.tape().unwrap())
    };
    let job = Job { program: Some(Arc::new(program)), ..job };
    simulate_users(&job, (before, level), faults)
}

fn names() -> Vec<String> {
    Program::new(flow(), String::new()).unwrap().names()
}

/// Everything that must hold whatever the server did.
fn check(seed: u64, level: Level, faults: ShopFaults) -> (Account, UserTally) {
    let (account, users, log) = ran(seed, level, faults);
    let info = UserInfo::of(&users, &names(), Default::default());
    assert_eq!(info.gap(), None, "{seed}: {users:?}");
    assert_eq!(log.strange, 0, "{seed}: a user did what is not of the flow");
    let (measured, unmeasured) = (&account.measured, &account.unmeasured);
    for counters in [measured, unmeasured] {
        let fates = counters.completed + counters.failed + counters.unanswered;
        assert_eq!(counters.sent, fates, "{seed}: {counters:?}");
    }
    let asked: u64 = log.requests.iter().sum();
    assert_eq!(measured.sent + unmeasured.sent, asked, "{seed}: {log:?}");
    assert_eq!(users.reached[LEFT_OUT], 0, "{seed}: {users:?}");
    let soonest_ns = log.soonest_ns[1];
    assert!(soonest_ns.is_none_or(|time_ns| time_ns >= THINK_NS), "{seed}: {soonest_ns:?}");
    // Who began in the window sent the first request in it, or failed before.
    let window_ns = window_begin_ns(&level);
    let logins = log.logins_ns.iter().filter(|at_ns| **at_ns >= window_ns).count() as u64;
    let others = users.begun.saturating_sub(users.failed[0] + users.left[0]);
    assert!(others <= logins, "{seed}: {logins} logins in the window, {users:?}");
    for (path, place) in PLACES.into_iter().enumerate() {
        assert!(users.good[place] <= log.good[path], "{seed}: {users:?} {log:?}");
        // All users are of the window, and none of them was left without a connection.
        let is_connected =
            faults.refused + faults.unheard + faults.last_response == 0 && faults.idle_close == 0;
        if level.warmup_ns == 0 && is_connected {
            assert_eq!(users.reached[place], log.requests[path], "{seed}: {users:?} {log:?}");
        }
    }
    assert!(users.completed * REPEAT <= users.good[5], "{seed}: {users:?}");
    (account, users)
}

#[test]
fn users_of_a_good_server_take_every_step_in_time() {
    for seed in 1..=50 {
        let service_ns = (1 + seed * 10_000, 1_000_000);
        let faults = ShopFaults { service_ns, pieces: seed * 20, ..ShopFaults::default() };
        let warmup_ns = if seed % 2 == 0 { 20 * MS } else { 0 };
        let (account, users) = check(seed, level(1 + seed as u32 % 7, warmup_ns), faults);
        assert_eq!(
            users.failed.iter().sum::<u64>() + users.unfinished,
            0,
            "{seed}: {users:?} {:?}",
            account.measured
        );
        assert!(users.completed >= 10, "{seed}: {users:?}");
        assert_eq!(users.begun, users.completed);
        assert_eq!(account.measured.failed + account.unmeasured.failed, 0);
        // Six requests without the time to think: 4 ms of it are left out. The pieces of a response
        // come 1 us apart.
        let (min, max) = (account.flow.min.unwrap(), account.flow.max.unwrap());
        assert!(min >= 6 * service_ns.0, "{seed}: {min}");
        assert!(max <= 6 * service_ns.1 + 1_000_000, "{seed}: {max}");
    }
}

#[test]
fn a_connection_takes_time_of_the_flow_unless_it_opens_while_the_user_thinks() {
    const SERVICE_NS: u64 = 500_000;
    let faults = ShopFaults { service_ns: (SERVICE_NS, SERVICE_NS), ..ShopFaults::default() };
    let times = |first_delay_ns| {
        let mut flow = flow();
        flow.steps[0].delay_ns = first_delay_ns;
        let (account, users, _) = ran_of(flow, 3, level(4, 0), faults);
        assert_eq!(users.begun, users.completed);
        (account.flow.min.unwrap(), account.flow.max.unwrap())
    };
    // Who has a connection before the load begins waits for none. The others wait up to 200 us.
    let (min, max) = times(0);
    assert_eq!(min, 6 * SERVICE_NS);
    assert!((6 * SERVICE_NS + 150_000..=6 * SERVICE_NS + 200_000).contains(&max), "{max}");
    assert_eq!(times(MS), (6 * SERVICE_NS, 6 * SERVICE_NS));
    // A user who thinks for 10 us waits for the rest.
    let (_, max) = times(10_000);
    assert!((6 * SERVICE_NS + 140_000..=6 * SERVICE_NS + 190_000).contains(&max), "{max}");
}

/// A server with some of all faults, slower from seed to seed.
fn misbehaving(seed: u64, slower_ns: u64) -> ShopFaults {
    let some = |nth: u64, per_mille: u64| if (seed >> (nth % 8)) & 1 == 1 { per_mille } else { 0 };
    ShopFaults {
        refused: some(0, 50),
        unheard: some(1, 20),
        error_status: some(2, 40),
        empty: some(3, 40),
        reset: some(4, 30),
        silent: some(5, 20),
        last_response: some(6, 200),
        idle_close: some(7, 100),
        leads_nowhere: some(5, 50),
        keeps_method: some(2, 500),
        pieces: some(1, 300),
        service_ns: (10_000, 1 + seed * slower_ns),
        stalls: None,
    }
}

#[test]
fn nothing_is_lost_whatever_the_server_does() {
    let mut failed = [0; PATHS.len()];
    let (mut unfinished, mut completed) = (0, 0);
    for seed in 1..=300u64 {
        let faults = misbehaving(seed, 30_000);
        let warmup_ns = if seed % 3 == 0 { 25 * MS } else { 0 };
        let (_, users) = check(seed, level(1 + seed as u32 % 9, warmup_ns), faults);
        let parts = PLACES.map(|place| users.failed[place]);
        failed.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        unfinished += users.unfinished;
        completed += users.completed;
    }
    // Each kind of end has occurred, at each step.
    assert!(failed.iter().all(|count| *count > 20), "{failed:?}");
    assert!(completed > 1000, "{completed} {unfinished}");
}

#[test]
fn a_step_whose_variables_have_no_room_is_not_sent() {
    let mut flow = flow();
    flow.steps[1].sets = vec![(1, Text::plain("x".repeat(VALUES_BYTES + 1)))];
    let (_, users, log) = ran_of(flow, 1, level(3, 0), ShopFaults::default());
    assert!(users.begun > 20 && users.failed[1] == users.begun, "{users:?}");
    assert_eq!((log.requests[0], log.requests[1]), (users.begun, 0));
}

#[test]
fn a_connection_that_ends_after_a_response_fails_no_user() {
    let service_ns = (10_000, 500_000);
    for seed in 1..=30 {
        let faults = ShopFaults { last_response: 400, service_ns, ..ShopFaults::default() };
        for level in [level(5, 0), due_every(2 * MS, 50, 10 * MS)] {
            let (_, users) = check(seed, level, faults);
            assert!(users.begun == users.completed && users.begun > 20, "{seed}: {users:?}");
        }
    }
}

/// Users who are due every so often.
fn due_every(gap_ns: u64, slots: u32, warmup_ns: u64) -> Level {
    Level {
        rate: Some((1e9 / gap_ns as f64, Spacing::Fixed)),
        connect_ns: 0,
        ..level(slots, warmup_ns)
    }
}

#[test]
fn users_who_are_due_begin_on_time_while_slots_are_free() {
    const SERVICE_NS: u64 = 500_000;
    let faults = ShopFaults { service_ns: (SERVICE_NS, SERVICE_NS), ..ShopFaults::default() };
    for (seed, warmup_ns) in [(1, 0), (2, 20 * MS), (3, 50 * MS)] {
        let (account, users) = check(seed, due_every(2 * MS, 50, warmup_ns), faults);
        assert_eq!((users.begun, users.unstarted), (60, 0), "{users:?}");
        assert_eq!(users.completed, 60);
        // A connection takes 20 to 200 us, while the user thinks for 1 ms. A turn takes a while.
        let is = |of: &Summary, ns: u64| (of.min, of.max.unwrap() <= ns + 1000) == (Some(ns), true);
        assert!(is(&account.flow, 6 * SERVICE_NS), "{seed}: {:?}", account.flow);
        // From when a step was due, on time, to the response.
        assert!(is(&account.latency, SERVICE_NS), "{seed}: {:?}", account.latency);
        assert!(is(&account.send_delay, 0), "{seed}: {:?}", account.send_delay);
        assert!(is(&account.generator_delay, 0), "{seed}: {:?}", account.generator_delay);
        assert_eq!(account.generator_delay.count, account.measured.sent);
    }
}

#[test]
fn users_of_a_level_that_is_over_are_none_of_the_next_one() {
    let faults = ShopFaults { service_ns: (1, 2), ..ShopFaults::default() };
    // When it ends, each of its users thinks, on a connection that is open.
    let before = Level { window_ns: 2 * MS, drain_ns: 1, ..due_every(MS / 2, 4, 0) };
    let level = due_every(20 * MS, 4, 0);
    let (_, users, _) = ran_after(&[before], (flow(), 1), level, faults);
    assert_eq!((users.begun, users.completed, users.unstarted), (6, 6, 0), "{users:?}");
}

#[test]
fn many_connections_are_opened_at_once_for_users_who_are_due() {
    let faults = ShopFaults { service_ns: (1, 2), ..ShopFaults::default() };
    let mut flow = flow();
    flow.steps[0].delay_ns = 0;
    // A connection takes up to 200 us, and 1000 users are due in them.
    let level = Level { window_ns: 200_000, ..due_every(200, 1000, 0) };
    let (account, users, _) = ran_of(flow, 1, level, faults);
    assert_eq!((users.begun, users.completed), (1000, 1000));
    // No connection waits for another one: that would be as long again.
    assert!(account.flow.max.unwrap() < 300_000, "{:?}", account.flow);
}

#[test]
fn what_the_generator_is_late_by_is_told_apart_from_the_wait_of_users() {
    const STALL_NS: u64 = 10 * MS;
    let stalls = Some(Stalls { every_ns: 15 * MS, length_ns: STALL_NS, during: StallPoint::Wait });
    let faults = ShopFaults { service_ns: (1, 2), stalls, ..ShopFaults::default() };
    // Those who do not think can only be asked for too late.
    for (first_delay_ns, think_ns) in [(0, 0), (MS, THINK_NS), (40 * MS, THINK_NS)] {
        let mut flow = flow();
        (flow.steps[0].delay_ns, flow.steps[1].delay_ns) = (first_delay_ns, think_ns);
        let (account, users, _) = ran_of(flow, 1, due_every(2 * MS, 200, 0), faults);
        assert_eq!((users.begun, users.completed), (60, 60));
        let (late, delay) = (&account.generator_delay, &account.send_delay);
        assert!(late.max.unwrap().abs_diff(STALL_NS) < MS, "{late:?}");
        // What it is late by is a part of the delay; the rest are connections.
        assert!(late.mean <= delay.mean && late.max <= delay.max, "{late:?} of {delay:?}");
        assert!(account.flow.max.unwrap() > STALL_NS, "{:?}", account.flow);
    }
}

#[test]
fn the_wait_for_a_slot_is_part_of_the_flow_and_of_the_first_step() {
    const SERVICE_NS: u64 = 1_000_000;
    let faults = ShopFaults { service_ns: (SERVICE_NS, SERVICE_NS), ..ShopFaults::default() };
    // One is due each 5 ms. A flow takes 6 ms, with 4 ms of thinking: a user who waited has no time
    // left to think before the first step, so the one slot has a user each 9 ms and a connection.
    let (account, users) = check(1, due_every(5 * MS, 1, 0), faults);
    assert_eq!(users.begun + users.unstarted, 24, "{users:?}");
    assert_eq!((users.begun, users.completed), (14, 14));
    let behind_ns = (users.begun - 1) * 4 * MS;
    let (min, max) = (account.flow.min.unwrap(), account.flow.max.unwrap());
    let connects_ns = (users.begun - 1) * 200_000;
    assert!((6 * SERVICE_NS..6 * SERVICE_NS + 1000).contains(&min), "{min}");
    let latest_ns = 6 * SERVICE_NS + behind_ns;
    assert!((latest_ns..latest_ns + connects_ns).contains(&max), "{max}");
    assert_eq!(account.latency.censored, users.unstarted, "slower than all others");
    // Only first steps waited: each user as long as the one before, and 4 ms and a connection more.
    // The last of all steps were sent after the window.
    let (requests, turns) = (account.latency.count, users.begun * (users.begun - 1) / 2);
    let mean_ns = |each_ns: u64| SERVICE_NS + turns * each_ns / requests;
    let mean = account.latency.mean.unwrap();
    assert!((mean_ns(4 * MS)..mean_ns(4 * MS + 200_000)).contains(&mean), "{mean}");
    assert_eq!(account.measured.unsent, users.unstarted);
    assert_eq!(account.measured.waited, users.begun - 1);
    assert!(account.send_delay.max.unwrap() >= behind_ns, "{:?}", account.send_delay);
    assert!(account.generator_delay.max.unwrap() <= 1000, "{:?}", account.generator_delay);
}

#[test]
fn no_user_who_is_due_is_lost_whatever_the_server_does() {
    let (mut due, mut unstarted, mut failed) = (0, 0, 0);
    for seed in 1..=200u64 {
        let faults = misbehaving(seed, 20_000);
        let warmup_ns = if seed % 3 == 0 { 25 * MS } else { 0 };
        let gap_ns = MS * (1 + seed % 4);
        let slots = 1 + (seed % 20) as u32;
        let (_, users) = check(seed, due_every(gap_ns, slots, warmup_ns), faults);
        assert_eq!(users.begun + users.unstarted, 120 * MS / gap_ns, "{seed}: {users:?}");
        due += users.begun + users.unstarted;
        unstarted += users.unstarted;
        failed += users.failed.iter().sum::<u64>();
    }
    assert!(unstarted > due / 10 && failed > due / 20, "{unstarted} and {failed} of {due}");
}

#[test]
fn a_server_that_stops_leaves_users_where_they_wait() {
    let faults = ShopFaults { silent: 1000, service_ns: (1, 2), ..ShopFaults::default() };
    let short = Level { window_ns: 20 * MS, drain_ns: 10 * MS, ..level(4, 0) };
    let (account, users) = check(7, short, faults);
    assert_eq!((users.begun, users.unfinished, users.left[0]), (4, 4, 4));
    assert_eq!(account.measured.unanswered, 4);
    assert_eq!(account.flow.count, 0);
}
