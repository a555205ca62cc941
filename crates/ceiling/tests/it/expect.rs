//! Expectations decide the exit code, and each term is reported in every output.

use crate::harness::{Server, code_of, measure, run, turn};
use serde_json::Value;

/// So few requests that a test is short.
const FEW: [&str; 4] = ["-n", "2000", "-c", "4"];
/// A server that is slower than the generator, which has nothing to do for most of the time.
const SLOW: [&str; 4] = ["--threads", "1", "--delay", "fixed:1ms"];

#[test]
fn a_hold_is_good_and_a_miss_or_an_open_term_is_not() {
    let _turn = turn();
    let server = Server::start("target-sink", &SLOW);
    let url = server.url("/read");
    let expecting =
        |expect: &str| run(&[&["load", &url, "--expect", expect, "--json"][..], &FEW].concat());

    let said = expecting("p50<5s,p99<5s,errors<=0%,status.5xx<=0%,rate>=1");
    let record = said.record();
    assert_eq!(said.code, code_of(&record), "{}", said.stderr);
    let point = &record["points"][0];
    for terms in [&record["expectations"], &point["expectations"]] {
        assert_eq!(terms.as_array().unwrap().len(), 5);
        assert!(terms.as_array().unwrap().iter().all(|term| term["met"] == true), "{terms}");
    }
    // A stall of the generator leaves two bounds of it, and no value.
    let (p99_ns, standing) = (&point["latency_ns"]["p99"], &point["standing"]);
    let known = if standing.get("p99").is_some() { &Value::Null } else { p99_ns };
    assert_eq!(record["expectations"][1]["measured"].as_f64(), known.as_f64(), "{standing}");
    assert_eq!(record["expectations"][1]["bound"], 5e9);

    let said = expecting("p50<1ns,errors<1%");
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert_eq!(said.record()["expectations"][0]["met"], false);
    assert!(said.stderr.contains("p50<1ns missed: measured"), "{}", said.stderr);
    assert!(!said.stderr.contains("errors"), "{}", said.stderr);

    let said = expecting("p99_99<5s");
    assert_eq!(said.code, 3, "2000 responses say nothing about one in ten thousand");
    let term = &said.record()["expectations"][0];
    assert!(term["met"].is_null() && term["measured"].is_null(), "{term}");
    assert!(said.stderr.contains("p99_99<5s undecided: too few"), "{}", said.stderr);
}

#[test]
fn failures_are_results_and_decide_an_expectation() {
    let _turn = turn();
    let server = Server::start("target-sink", &[&SLOW[..], &["--status", "500:50%"]].concat());
    let url = server.url("/read");
    let said = run(&[&["load", &url, "--expect", "errors<1%"][..], &FEW].concat());
    assert_eq!(said.code, 3, "{}", said.stdout);
    assert!(said.stdout.contains("MISSED"), "{}", said.stdout);
    assert!(said.stdout.contains("requests failed: 500 "), "{}", said.stdout);
}

#[test]
fn a_ramp_says_which_level_decides() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:5ms"]);
    let url = server.url("/read");
    let ramp = ["ramp", &url, "-c", "1..4", "-d", "1s", "--warmup", "100ms"];
    let expect = "p50<5s,p90<1ns,rate>=1";
    let (code, record) = measure(&[&ramp[..], &["--expect", expect]].concat());
    let term = |at: usize| &record["expectations"][at];
    assert_eq!([0, 1, 2].map(|at| &term(at)["met"]), [true, false, true], "{record}");
    let why = term(1)["why"].as_str().unwrap();
    assert!(why.contains("connections"), "{why}");
    assert_eq!(code, 3);
}

#[test]
fn figures_of_hosts_are_bounded_like_others() {
    let _turn = turn();
    let server = Server::start("target-sink", &SLOW);
    let url = server.url("/read");
    let load = ["load", &url, "-c", "4", "-d", "1s", "--warmup", "100ms", "--json", "--expect"];
    let expecting = |expect: &str| run(&[&load[..], &[expect]].concat());
    let said = expecting("memory.server<10GB,cores.server<100,accept.queue.server<100k");
    let record = said.record();
    let terms = record["expectations"].as_array().unwrap();
    assert!(terms.iter().all(|term| term["met"] == true), "{terms:?}");
    let hosts = &record["points"][0]["hosts"];
    assert_eq!(terms[0]["measured"], hosts["memory.server"]);
    assert!(hosts["memory.server"].as_f64().unwrap() > 100e3, "{hosts}");
    assert!(hosts["sent.server"].as_f64().unwrap() > 1e3, "over loopback: {hosts}");
    let said = expecting("memory.server<1B,link.sent.server<50%");
    assert_eq!(said.code, 3);
    assert!(said.stderr.contains("memory.server<1B missed: measured"), "{}", said.stderr);
    let open = "link.sent.server<50% undecided: server link sending: not read in the window";
    assert!(said.stderr.contains(open), "{}", said.stderr);
}
