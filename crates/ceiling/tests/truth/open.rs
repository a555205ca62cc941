//! Open loop: requests leave when they are due, each is accounted for, and the reported latency is
//! what a user would have waited, whichever side caused the wait.

use crate::harness::{
    Folder, Group, Server, count, measure, measure_wall, must_be_root, program, shown, turn,
};
use serde_json::Value;
use std::path::Path;

fn point(record: &Value) -> &Value {
    &record["points"][0]
}

fn requests(point: &Value, name: &str) -> u64 {
    count(point, &format!("/requests/{name}"))
}

/// A percentile in milliseconds.
fn ms(point: &Value, path: &str) -> f64 {
    count(point, path) as f64 / 1e6
}

/// Every planned request was sent or not, and every sent request has one fate; returns the number
/// of planned requests.
fn assert_accounts(point: &Value) -> u64 {
    let of = |name: &str| requests(point, name);
    assert_eq!(of("planned"), of("sent") + of("unsent"), "{}", point["requests"]);
    let fates = of("completed") + of("failed") + of("unanswered");
    assert_eq!(of("sent"), fates, "{}", point["requests"]);
    of("planned")
}

/// The asked and completed requests of each second follow the plan.
fn follows(point: &Value, asked: &[f64]) -> Result<(), String> {
    let series = point["series"].as_array().unwrap();
    let told = format!("{asked:?} {series:?}");
    for (second, asked) in asked.iter().enumerate() {
        let Some(line) = series.get(second) else { return Err(told) };
        // The asked rate is arithmetic; the completed one may be disturbed.
        let asked_rate = line["asked_rate"].as_f64().unwrap();
        assert!((asked_rate - asked).abs() <= asked * 0.02, "{told}");
        let completed = line["completed"].as_f64().unwrap();
        if (completed - asked).abs() > asked * 0.2 {
            return Err(told);
        }
    }
    Ok(())
}

#[test]
fn the_rate_follows_each_shape() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = Folder::new("replay");
    let recording = folder.file("rates.csv");
    std::fs::write(&recording, "t,rate\n0,400\n1,100\n2,0\n").unwrap();
    let url = server.url("/");
    let cases: [(&[&str], &[f64]); 5] = [
        (&["--steps", "200,600/1s"], &[200.0, 600.0]),
        (&["--ramp", "0:800/1s,800:400/1s"], &[400.0, 600.0]),
        (&["--spike", "200:1k/500ms@1s", "-d", "2"], &[200.0, 600.0]),
        // Half a wave above the middle, then half a wave below it.
        (&["--sine", "100:500/2s", "-d", "2"], &[427.3, 172.7]),
        (&["--replay", &recording], &[400.0, 100.0]),
    ];
    for (options, asked) in cases {
        let load = ["load", &url, "-c", "8", "--warmup", "0"];
        let (_, record) = measure(&[&load[..], options].concat());
        let point = point(&record);
        let planned = assert_accounts(point) as f64;
        let sum: f64 = asked.iter().sum();
        assert!((planned - sum).abs() <= 1.0, "{options:?}: {planned} of {sum}");
        let follows = follows(point, asked);
        assert!(follows.is_ok(), "{options:?}: {}", follows.unwrap_err());
    }
}

/// One request in ten is due within a stall and waits for the rest of it, up to 100 ms: p95 is
/// 50 ms and p99 is 90 ms. A neighbour cannot make a wait shorter; this checks that it is not much
/// longer.
fn is_the_stalls(latency: &Value) -> bool {
    let at = |name: &str| ms(latency, &format!("/{name}"));
    assert!(at("p95") > 45.0 && at("p99") > 85.0, "{latency}");
    at("p50") < 10.0 && at("p95") < 70.0 && at("p99") < 115.0
}

/// The stall as users see it, with many connections and with one, and as a closed loop reports it.
/// An error if a neighbour on this machine may have disturbed it.
fn meet_stall() -> Result<(), String> {
    let load = |connections: &str, options: &[&str]| {
        let stall = ["--threads", "1", "--delay", "stall:100ms/1s"];
        let server = Server::start("target-sink", &stall);
        let url = server.url("/");
        let load = ["load", &url, "-c", connections, "-d", "2", "--warmup", "0"];
        let (_, record) = measure(&[&load[..], options].concat());
        (record["points"][0].clone(), server.stop()["service_ns"].take())
    };
    let (many, sink) = load("100", &["-R", "500"]);
    let (one, its_sink) = load("1", &["-R", "500"]);
    let (closed, _) = load("1", &[]);
    assert_eq!((assert_accounts(&many), assert_accounts(&one)), (1000, 1000));
    // Many connections each wait for the server; a single connection keeps requests waiting in the
    // client, and the server sees only one of them. The user waits equally long.
    let is_same = is_the_stalls(&many["latency_ns"]) && is_the_stalls(&one["latency_ns"]);
    let is_near = |point: &Value, sink: &Value| {
        ["p50", "p95", "p99"].iter().all(|name| {
            let service_ms = ms(point, &format!("/service_ns/{name}"));
            let of_sink_ms = ms(sink, &format!("/{name}"));
            (service_ms - of_sink_ms).abs() < 8.0
        })
    };
    let hidden = [ms(&one, "/service_ns/p99"), ms(&closed, "/latency_ns/p99")];
    let is_hidden = hidden.iter().all(|p99_ms| *p99_ms < 30.0);
    if is_same && is_near(&many, &sink) && is_near(&one, &its_sink) && is_hidden {
        return Ok(());
    }
    let shown = ["latency_ns", "service_ns"].map(|name| format!("{} {}", many[name], one[name]));
    Err(format!("{shown:#?} {sink} {its_sink} {hidden:?}"))
}

#[test]
fn a_stall_is_seen_from_the_plan_and_hidden_from_a_closed_loop() {
    let _turn = turn();
    let met = meet_stall();
    assert!(met.is_ok(), "{}", met.unwrap_err());
}

/// The queue of a server that is too slow grows until the end, and the verdict does not blame the
/// generator.
fn assert_the_queue_grows(record: &Value, planned: u64) {
    let point = point(record);
    assert_eq!(assert_accounts(point), planned);
    assert!(requests(point, "unsent") > 0, "{}", point["requests"]);
    let series = point["series"].as_array().unwrap();
    let medians: Vec<_> = series.iter().filter_map(|second| second["p50_ns"].as_u64()).collect();
    let (first, last) = (medians[0], medians[medians.len() - 1]);
    assert!(last > first + 500_000_000, "latency grows with the queue: {medians:?}");
    let bound = count(point, "/latency_at_least_ns/p50");
    assert!(bound > 500_000_000, "half of what was planned waited at least {bound} ns");
}

#[test]
fn a_server_slower_than_the_rate_is_the_wall() {
    let _turn = turn();
    must_be_root();
    let group = Group::new("slower", None);
    group.limit(0.2);
    let server = Server::start_as(group.command(&program("target-nethttp")), &[]);
    let url = server.url("/simple");
    let load = ["load", &url, "-R", "30k", "-c", "16", "-d", "3", "--warmup", "0"];
    let (code, record) = measure_wall(&["S3"], &load);
    assert_eq!(record["verdict"]["side"], "server", "{}", shown(&record));
    assert_eq!(code, 0, "{}", shown(&record));
    assert_the_queue_grows(&record, 90_000);
}

#[test]
fn a_server_of_known_capacity_is_not_blamed_on_the_client() {
    let _turn = turn();
    // 8 at a time for 20 ms each: 400 per second, and nothing is busy.
    let arguments = ["--threads", "1", "--delay", "fixed:20ms", "--serve-at-once", "8"];
    let server = Server::start("target-sink", &arguments);
    let url = server.url("/");
    let load = ["load", &url, "-R", "1200", "-c", "64", "-d", "3", "--warmup", "0"];
    let (code, record) = measure_wall(&["unknown"], &load);
    assert_eq!(code, 0, "{}", shown(&record));
    assert_eq!(record["verdict"]["side"], "unknown", "{}", shown(&record));
    assert_the_queue_grows(&record, 3600);
    let rate = point(&record)["rate"].as_f64().unwrap();
    assert!((360.0..440.0).contains(&rate), "{rate}");
}

#[test]
fn a_generator_that_is_late_is_c4_and_no_measurement() {
    let _turn = turn();
    must_be_root();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:2ms"]);
    let group = Group::new("late", None);
    // The server needs more CPU time per 100 ms than its quota, so it halts until the next period.
    group.limit(0.1);
    let url = server.url("/");
    let mut command = group.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    command.args(["load", &url, "-R", "5k", "-c", "100", "-d", "3", "--warmup", "0", "--json"]);
    command.arg("--strict");
    let output = command.env("CEILING_RUNS", "none").output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(assert_accounts(point(&record)), 15_000);
    assert_eq!(record["verdict"]["side"], "client", "{}", shown(&record));
    assert_eq!(record["verdict"]["wall"], "C4", "{}", shown(&record));
    let gates = point(&record)["gates"].as_array().unwrap();
    let release = gates.iter().find(|gate| gate["id"] == "release").unwrap();
    assert_eq!(release["ok"], false, "{release}");
    let median = &point(&record)["standing"]["p50"];
    assert_eq!(median["is"], "bounded", "{median}");
}
