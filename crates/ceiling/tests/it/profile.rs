//! Profiles of real servers, and the differences between two runs.

use crate::harness::{Server, ceiling, measure, run, turn, wait_until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};

/// A free port followed by free ports, for workers that count upwards. The kernel gives none of
/// them to a connection.
fn debug_address() -> String {
    // Each test of this process looks in other places than those before it.
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let begin = 10_000 + (std::process::id() % 1000) as u16 * 20;
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    for _ in 0..4000 {
        let nth = TAKEN.fetch_add(1, Ordering::Relaxed);
        let first = 10_000 + (begin - 10_000 + nth % 4400 * 5) % 22_000;
        if (first..first + 5).all(is_free) {
            return format!("127.0.0.1:{first}");
        }
    }
    panic!("no five free ports");
}

/// The runs of one test, removed at its end.
struct Runs(PathBuf);

impl Runs {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ceiling-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn forget(&self) {
        fs::remove_dir_all(&self.0).unwrap();
        fs::create_dir_all(&self.0).unwrap();
    }

    fn only(&self) -> PathBuf {
        let mut runs = fs::read_dir(&self.0).unwrap().map(|run| run.unwrap().path());
        let only = runs.next().expect("a run is kept");
        assert!(runs.next().is_none());
        only
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn captures<'a>(record: &'a Value, kind: &str) -> Vec<&'a Value> {
    let captures = record["profile"]["captures"].as_array().unwrap();
    captures.iter().filter(|capture| capture["kind"] == kind).collect()
}

fn merged<'a>(record: &'a Value, kind: &str) -> &'a Value {
    let kinds = record["profile"]["kinds"].as_array().unwrap();
    kinds.iter().find(|merged| merged["kind"] == kind).unwrap_or(&Value::Null)
}

#[test]
fn every_worker_is_profiled_in_the_steady_part_alone() {
    let _turn = turn();
    let runs = Runs::new("profile-workers");
    let address = debug_address();
    let prefork = ["--prefork", "--workers", "2", "--debug-addr", &address];
    let server = Server::start("target-fiber", &prefork);
    let url = server.url("/read");
    let load = ["load", &url, "-c", "16", "-d", "3", "--profile", "auto", "--runs", runs.text()];
    let mut record = Value::Null;
    // A profile lasts as long as it was asked for. One that another load on the machine kept from
    // the begin of its window would end after it.
    wait_until("profiles that begin in time", || {
        runs.forget();
        record = measure(&load).1;
        let window_ns = record["points"][0]["window_ns"][0].as_u64().unwrap();
        let mut all = record["profile"]["captures"].as_array().unwrap().iter();
        all.all(|one| one["begin_ns"].as_u64().unwrap() <= window_ns + 500_000_000)
    });
    assert_eq!(record["profile"]["failures"], serde_json::json!([]), "{}", record["profile"]);
    let point = &record["points"][0];
    assert_eq!((&point["profiled"], &record["profile"]["visit"]), (&true.into(), &"point".into()));
    let workers: BTreeSet<_> =
        captures(&record, "cpu").iter().map(|cpu| cpu["pid"].as_u64()).collect();
    assert_eq!(workers.len(), 2, "{workers:?}");
    assert!(!workers.contains(&Some(u64::from(server.pid))), "the master serves nothing");
    let window = |end: usize| point["window_ns"][end].as_u64().unwrap();
    for kind in ["cpu", "block", "mutex", "heap"] {
        let captures = captures(&record, kind);
        assert_eq!(captures.len(), 2, "{kind}");
        for capture in captures {
            let at = |name: &str| capture[name].as_u64().unwrap();
            assert!(at("begin_ns") >= window(0) && at("end_ns") <= window(1), "{capture}");
            assert!(at("duration_ns") >= 1_900_000_000, "{capture}");
            let file = runs.only().join(capture["file"].as_str().unwrap());
            assert!(fs::metadata(file).is_ok_and(|file| file.len() > 0), "{capture}");
        }
    }
    let cpu = merged(&record, "cpu");
    assert!(cpu["total"].as_u64().unwrap() > 0 && cpu["processes"] == 2, "{cpu}");
    let serves = |frame: &Value| frame["function"].as_str().unwrap().contains("serveConn");
    assert!(cpu["flame"].as_array().unwrap().iter().any(serves));
    let waits = merged(&record, "block")["waits"].as_array().unwrap();
    let own = waits.iter().filter(|wait| wait["waiter"] == "profiler");
    assert!(own.clone().count() > 0 && own.clone().all(|wait| wait["share"].is_null()));
    // The page of the stored run has it too.
    let page = runs.0.join("page.html");
    let run_directory = runs.only();
    let shown = run(&["show", run_directory.to_str().unwrap(), "-v", "-o", page.to_str().unwrap()]);
    assert!(shown.code == 0 && shown.stdout.contains("CPU time (runtime)"), "{}", shown.stdout);
    assert!(fs::read_to_string(page).unwrap().contains("id=\"flame-cpu\""));
}

#[test]
fn a_ramp_is_measured_without_and_its_best_level_profiled() {
    let _turn = turn();
    let address = debug_address();
    let server = Server::start("target-nethttp", &["--debug-addr", &address]);
    let url = server.url("/read");
    let ramp = ["ramp", &url, "-c", "1..4*4", "-d", "2", "--repeats", "0", "--profile", &address];
    let (_, record) = measure(&ramp);
    assert_eq!(record["points"].as_array().unwrap().len(), 2, "the profiled visit is no point");
    assert!(record["points"].as_array().unwrap().iter().all(|point| point["profiled"] == false));
    let profile = &record["profile"];
    assert_eq!(profile["visit"], "repeat");
    assert!(profile["window_ns"][0].as_u64() > record["points"][1]["window_ns"][1].as_u64());
    assert_eq!(captures(&record, "cpu").len(), 1);
    let heap = merged(&record, "heap");
    assert!(heap["total"].as_u64().unwrap() > 0, "net/http allocates for every request");
    let waits = merged(&record, "block")["waits"].as_array().unwrap();
    let of_request = waits.iter().find(|wait| wait["waiter"] == "request").expect("net/http waits");
    let number = |name: &str| of_request[name].as_f64().unwrap();
    let held_s = merged(&record, "block")["duration_s"].as_f64().unwrap()
        * profile["in_flight"].as_f64().unwrap();
    assert!((number("share") - number("blocked_s") / held_s).abs() < 1e-9, "{of_request}");
    let share = number("share");
    assert!(share > 0.0 && share < 1.0, "{of_request}");
    assert!((number("gain_max") - share / (1.0 - share)).abs() < 1e-9, "{of_request}");
    assert!(merged(&record, "cpu")["requests"].as_f64().unwrap() > 0.0);
}

/// The figures per request, the shares of requests, and the reason if there are none, for a profile
/// of one kind.
fn per_request<'a>(record: &'a Value, kind: &str) -> (&'a Value, Vec<&'a Value>, &'a Value) {
    let merged = merged(record, kind);
    let waits = merged["waits"].as_array().unwrap();
    let of_requests = waits.iter().filter(|wait| wait["waiter"] == "request");
    let shares = of_requests.flat_map(|wait| [&wait["share"], &wait["gain_max"]]);
    (&merged["requests"], shares.collect(), &merged["requests_absent"])
}

#[test]
fn a_part_of_the_workers_tells_no_share_of_all_requests() {
    let _turn = turn();
    let address = debug_address();
    let prefork = ["--prefork", "--workers", "4", "--debug-addr", &address];
    let server = Server::start("target-fiber", &prefork);
    let url = server.url("/read");
    let load =
        |profile: &str| measure(&["load", &url, "-c", "32", "-d", "3", "--profile", profile]).1;
    let some = load(&address);
    for kind in ["cpu", "block", "mutex", "heap"] {
        let (requests, shares, why) = per_request(&some, kind);
        assert_eq!(merged(&some, kind)["processes"], 1, "{kind}");
        assert!(requests.is_null(), "{kind}: {requests}");
        assert!(shares.iter().all(|share| share.is_null()), "{kind}: {shares:?}");
        let why = why.as_str().unwrap();
        assert!(why.contains("processes") && why.contains("were not profiled"), "{why}");
        assert!(why.contains("(target-fiber)"), "{why}");
        let captured = captures(&some, kind)[0]["pid"].as_u64().unwrap();
        assert!(!why.contains(&format!(" {captured} (")), "{captured}: {why}");
        assert!(!why.contains(&format!(" {} (", server.pid)), "the master serves nothing: {why}");
    }
    // On the last of these ports there is nothing.
    let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
    let range = format!("{address}-{}", port + 4);
    for of_all in ["auto", range.as_str()] {
        let all = load(of_all);
        assert_eq!(all["profile"]["failures"], serde_json::json!([]), "{of_all}");
        for kind in ["cpu", "block", "mutex", "heap"] {
            let (requests, shares, why) = per_request(&all, kind);
            assert_eq!(merged(&all, kind)["processes"], 4, "{of_all}, {kind}");
            assert!(requests.as_f64().unwrap() > 0.0 && why.is_null(), "{of_all}, {kind}: {why}");
            assert!(!shares.iter().any(|share| share.is_null()), "{kind}: {shares:?}");
        }
    }
}

#[test]
fn streams_are_profiled_and_their_waits_are_no_waits_of_requests() {
    let _turn = turn();
    let address = debug_address();
    let hub = ["--hub", "one", "--debug-addr", &address];
    let server = Server::start("target-nethttp", &hub);
    let url = server.url("");
    let fanout = ["fanout", &url, "-c", "50", "--write-rate", "200", "--writers", "2", "-d", "3"];
    let (_, record) = measure(&[&fanout[..], &["--profile", &address]].concat());
    let profile = &record["profile"];
    assert_eq!(profile["failures"], serde_json::json!([]), "{profile}");
    assert!(profile["server_us_per_request"].is_null(), "{profile}");
    assert!(profile["rate"].as_f64().unwrap() > 0.0, "writes go on");
    for kind in ["cpu", "block", "mutex", "heap"] {
        let (requests, shares, why) = per_request(&record, kind);
        assert!(requests.is_null() && why.as_str().unwrap().contains("streams"), "{kind}: {why}");
        assert!(shares.iter().all(|share| share.is_null()), "{kind}: {shares:?}");
    }
    let block = merged(&record, "block");
    let waits = block["waits"].as_array().unwrap();
    let blocked_s: f64 = waits
        .iter()
        .filter(|wait| wait["waiter"] == "request")
        .map(|wait| wait["blocked_s"].as_f64().unwrap())
        .sum();
    // Fifty streams wait all the time: divided by the number of writes, that would be many times
    // the residence of a write.
    assert!(blocked_s > block["duration_s"].as_f64().unwrap(), "{blocked_s}");
    // So little work may leave no sample of CPU time; if there are samples, there is a flame graph.
    let cpu = merged(&record, "cpu");
    let is_sampled = cpu["total"].as_u64().unwrap() > 0;
    assert_eq!(cpu["flame"].as_array().unwrap().is_empty(), !is_sampled, "{cpu}");
    assert!(cpu["top"].is_array(), "{cpu}");
}

#[test]
fn what_cannot_be_profiled_is_told_and_the_run_goes_on() {
    let _turn = turn();
    let server = Server::start("target-fasthttp", &[]);
    let url = server.url("/simple");
    let absent = debug_address();
    let load = ["load", &url, "-c", "4", "-R", "200", "-d", "2", "--profile", &absent];
    let (_, record) = measure(&load);
    let failures = record["profile"]["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 4, "{failures:?}");
    assert!(failures[0].as_str().unwrap().contains("refused"), "{failures:?}");
    assert_eq!(record["profile"]["kinds"], serde_json::json!([]));
    assert!(record["points"][0]["rate"].as_f64().unwrap() > 0.0);
    let port: u16 = absent.rsplit(':').next().unwrap().parse().unwrap();
    let range = format!("{absent}-{}", port + 1);
    let load = ["load", &url, "-c", "4", "-R", "200", "-d", "2", "--profile", &range];
    let failures = measure(&load).1["profile"]["failures"].to_string();
    assert!(failures.contains("has an endpoint"), "{failures}");

    // Without perf in the PATH there is no profile.
    let load = ["load", &url, "-R", "200", "-d", "2", "--profile", "auto", "--json"];
    let output = ceiling(&load).env("PATH", "/nowhere").output().unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failures = record["profile"]["failures"].as_array().unwrap();
    assert!(failures[0].as_str().unwrap().contains("not installed"), "{failures:?}");
}

#[test]
fn two_runs_are_compared_and_what_stands_against_it_comes_first() {
    let _turn = turn();
    let runs = Runs::new("profile-compare");
    let server = Server::start("target-fasthttp", &[]);
    let record_of = |name: &str, path: &str| {
        let (_, record) = measure(&["load", &server.url(path), "-c", "8", "-d", "1"]);
        let file = runs.0.join(name);
        fs::write(&file, record.to_string()).unwrap();
        file.to_str().unwrap().to_string()
    };
    let (a, b) = (record_of("a.json", "/simple"), record_of("b.json", "/list"));
    let said = run(&["compare", &a, &b, "--json"]);
    let compared: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, &compared["schema"]), (0, &"ceiling.compare/1".into()));
    let pair = &compared["points"][0];
    let over = pair["b"]["rate"].as_f64().unwrap() / pair["a"]["rate"].as_f64().unwrap();
    assert!((pair["ratios"]["rate"].as_f64().unwrap() - over).abs() < 1e-12, "{pair}");
    let settings = compared["settings"].as_array().unwrap();
    let url = settings.iter().find(|one| one["setting"] == "trial.url").expect("paths differ");
    assert!(url["b"].as_str().unwrap().ends_with("/list"));

    let mut elsewhere: Value = serde_json::from_slice(&fs::read(&b).unwrap()).unwrap();
    elsewhere["host"]["hostname"] = "elsewhere".into();
    fs::write(&b, elsewhere.to_string()).unwrap();
    let said = run(&["compare", &a, &b]).stdout;
    let first = said.find("NOT TO BE COMPARED").expect("another host");
    assert!(first < said.find("Points").unwrap(), "{said}");
    let refused = run(&["compare", &a, "/nowhere"]);
    assert!(refused.code == 2 && refused.stderr.contains("/nowhere"), "{}", refused.stderr);
}
