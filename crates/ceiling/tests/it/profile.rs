//! Profiles of real servers, and what two runs differ in.

use crate::harness::{Server, ceiling, measure, run, turn};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

/// A port with free ones behind it, for workers that count upwards.
fn debug_address() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("127.0.0.1:{}", port.min(60_000))
}

/// Runs of one test, which go with it.
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
    let (_, record) = measure(&load);
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
    // The page of the kept run has it too.
    let page = runs.0.join("page.html");
    let run_directory = runs.only();
    let shown = run(&["show", run_directory.to_str().unwrap(), "-o", page.to_str().unwrap()]);
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
    assert!(number("gain_max") >= number("share"));
}

#[test]
fn a_server_without_an_endpoint_is_sampled_by_perf() {
    let _turn = turn();
    let runs = Runs::new("profile-perf");
    let server = Server::start("target-sink", &[]);
    let (url, pid) = (server.url("/simple"), server.pid.to_string());
    let load = ["load", &url, "-c", "8", "-d", "3", "--profile", "perf", "--server-pid", &pid];
    let (_, record) = measure(&[&load[..], &["--runs", runs.text()]].concat());
    assert_eq!(record["profile"]["failures"], serde_json::json!([]), "{}", record["profile"]);
    let captures = captures(&record, "perf");
    assert_eq!((captures.len(), &captures[0]["pid"]), (1, &server.pid.into()), "{captures:?}");
    let file = fs::read(runs.only().join(captures[0]["file"].as_str().unwrap())).unwrap();
    assert_eq!(file[..2], [0x1f, 0x8b], "pprof files are packed by gzip");
    assert!(merged(&record, "perf")["total"].as_u64().unwrap() > 0, "{}", record["profile"]);
}

#[test]
fn what_cannot_be_profiled_is_told_and_the_run_goes_on() {
    let _turn = turn();
    let server = Server::start("target-fasthttp", &[]);
    let url = server.url("/simple");
    let nobody = debug_address();
    let load = ["load", &url, "-c", "4", "-d", "2", "--profile", &nobody];
    let (_, record) = measure(&load);
    let failures = record["profile"]["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 4, "{failures:?}");
    assert!(failures[0].as_str().unwrap().contains("refused"), "{failures:?}");
    assert_eq!(record["profile"]["kinds"], serde_json::json!([]));
    assert!(record["points"][0]["rate"].as_f64().unwrap() > 0.0);

    // Without perf in the path there is none.
    let load = ["load", &url, "-c", "4", "-d", "2", "--profile", "auto", "--json"];
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
