//! Users of a flow in virtual time against a shop that misbehaves: every user and every step has
//! one end, and nobody gets what is another's.

use engine::driver::sim::shop::{PATHS, ShopFaults, ShopLog};
use engine::job::Job;
use engine::simulate::{Account, Level, simulate_users};
use model::flow::{
    Assert, Capture, Comparison, Escape, Flow, Found, Key, Operand, Piece, Query, Skip, Source,
    Step, Test, Text, Variable,
};
use model::load::Life;
use model::users::{UserInfo, UserTally};
use std::sync::Arc;
use wire::program::Program;

const MS: u64 = 1_000_000;
/// Repetitions of the last step.
const REPEAT: u64 = 2;

fn step(method: &str, path: &str) -> Step {
    Step {
        name: format!("{method} {path}"),
        line: 1,
        method: method.into(),
        path: Text::plain(path),
        headers: Vec::new(),
        cookies: Vec::new(),
        body: Text::default(),
        delay_ns: 0,
        repeat: 1,
        skip: Skip::Never,
        sets: Vec::new(),
        timeout_ns: None,
        redirects_max: 0,
        statuses: "200".parse().ok(),
        queries: Vec::new(),
        captures: Vec::new(),
        asserts: Vec::new(),
    }
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
    let id = Query::Json(vec![name("items"), Key::Nth(1), name("id")]);
    let steps = vec![
        Step {
            body: Text::plain("{\"user\": \"ann\"}"),
            queries: vec![Query::Json(vec![name("token")])],
            captures: capture(0),
            ..step("POST", PATHS[0])
        },
        Step {
            path: with_token(PATHS[1]),
            delay_ns: 3 * MS,
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
        Step { path: with_token(PATHS[4]), repeat: REPEAT as u32, ..step("GET", PATHS[4]) },
    ];
    let variable = |name: &str| Variable { name: name.into(), is_secret: false };
    Flow {
        name: "shop".into(),
        steps,
        variables: vec![variable("token"), variable("id")],
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
    let program = Program::new(flow(), "2026-11-30T00:00:00Z".into()).unwrap();
    let job = Job {
        connections_max: level.connections_max,
        timeout_ns: 40 * MS,
        connect_timeout_ns: 30 * MS,
        seed,
        ..Job::for_tests(program.tape().unwrap())
    };
    let job = Job { program: Some(Arc::new(program)), ..job };
    simulate_users(&job, level, faults)
}

fn names() -> Vec<String> {
    Program::new(flow(), String::new()).unwrap().names()
}

/// Everything that must hold whatever the server did.
fn check(seed: u64, level: Level, faults: ShopFaults) -> (Account, UserTally) {
    let (account, users, log) = ran(seed, level, faults);
    let info = UserInfo::of(&users, &names(), Default::default());
    assert_eq!(info.gap(), None, "{seed}: {users:?}");
    assert_eq!(log.strange, 0, "{seed}: somebody got what is another's");
    let (measured, unmeasured) = (&account.measured, &account.unmeasured);
    for counters in [measured, unmeasured] {
        let fates = counters.completed + counters.failed + counters.unanswered;
        assert_eq!(counters.sent, fates, "{seed}: {counters:?}");
    }
    let asked: u64 = log.requests.iter().sum();
    assert_eq!(measured.sent + unmeasured.sent, asked, "{seed}: {log:?}");
    for place in 0..PATHS.len() {
        assert!(users.good[place] <= log.good[place], "{seed}: {users:?} {log:?}");
        // All users are of the window, and none of them was left without a connection.
        let is_connected =
            faults.refused + faults.unheard + faults.last_response == 0 && faults.idle_close == 0;
        if level.warmup_ns == 0 && is_connected {
            assert_eq!(users.reached[place], log.requests[place], "{seed}: {users:?} {log:?}");
        }
    }
    assert!(users.completed * REPEAT <= users.good[4], "{seed}: {users:?}");
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
        // Six requests and a connection, and no time to think: 3 ms of it are left out.
        let (min, max) = (account.flow.min.unwrap(), account.flow.max.unwrap());
        assert!(min >= 6 * service_ns.0 + 20_000, "{seed}: {min}");
        assert!(max <= 6 * service_ns.1 + 1_000_000, "{seed}: {max}");
    }
}

#[test]
fn nothing_is_lost_whatever_the_server_does() {
    let mut failed = [0; PATHS.len()];
    let (mut unfinished, mut completed) = (0, 0);
    for seed in 1..=300u64 {
        let some =
            |nth: u64, per_mille: u64| if (seed >> (nth % 8)) & 1 == 1 { per_mille } else { 0 };
        let faults = ShopFaults {
            refused: some(0, 50),
            unheard: some(1, 20),
            error_status: some(2, 40),
            empty: some(3, 40),
            reset: some(4, 30),
            silent: some(5, 20),
            last_response: some(6, 200),
            idle_close: some(7, 100),
            pieces: some(1, 300),
            service_ns: (10_000, 1 + seed * 30_000),
        };
        let warmup_ns = if seed % 3 == 0 { 25 * MS } else { 0 };
        let (_, users) = check(seed, level(1 + seed as u32 % 9, warmup_ns), faults);
        failed.iter_mut().zip(users.failed).for_each(|(sum, part)| *sum += part);
        unfinished += users.unfinished;
        completed += users.completed;
    }
    // Each kind of end has occurred, at each step.
    assert!(failed.iter().all(|count| *count > 20), "{failed:?}");
    assert!(completed > 1000, "{completed} {unfinished}");
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
