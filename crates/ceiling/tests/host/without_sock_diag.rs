//! A kernel that has no sock_diag, which `ss` asks too: what cannot be known is said, and the rest
//! is measured.

use crate::harness::probing::Probe;
use crate::harness::{Folder, Said, Server, count, run, turn};
use serde_json::Value;

/// What is said of it, once in each place.
const WHY: &str = "this kernel has no inet_diag; where it is a module, modprobe tcp_diag loads it";

/// A load of 200 requests, all of which are served; what was said, and the record.
fn brief(url: &str, more: &[&str]) -> (Said, Value) {
    let load = ["load", url, "-c", "4", "-n", "200", "-t", "1", "--json"];
    let said = run(&[&load, more].concat());
    let record = said.record();
    assert_eq!(count(&record, "/points/0/requests/completed"), 200, "{}", said.stderr);
    (said, record)
}

#[test]
fn a_server_that_cannot_be_found_is_measured_and_the_reason_said() {
    let _turn = turn();
    let server = Server::start("target-sink", &[]);
    let (said, record) = brief(&server.url("/simple"), &[]);
    let told = format!("{WHY}; name it with --server-pid");
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains(&told), "{}", said.stderr);
    assert!(record["notices"].to_string().contains(&told), "{:#}", record["notices"]);
    let cpu = &record["points"][0]["cpu"];
    assert_eq!(cpu["server_us_per_request"], Value::Null, "not known, and not zero");
}

/// What a load says when nobody asks for a record, in one line.
fn shown(url: &str, more: &[&str]) -> String {
    let load = ["load", url, "-c", "4", "-n", "200", "-t", "1", "-vv"];
    let said = run(&[&load, more].concat());
    let words: Vec<_> = said.stdout.split_whitespace().collect();
    assert!(!words.is_empty(), "{}", said.stderr);
    words.join(" ")
}

#[test]
fn a_server_that_is_named_is_watched_without_its_queues() {
    let _turn = turn();
    let server = Server::start("target-sink", &[]);
    let (url, pid) = (server.url("/simple"), server.pid.to_string());
    let named = ["--server-pid", &pid];
    let (said, record) = brief(&url, &named);
    assert_eq!(said.stderr, "");
    assert_eq!(record["target"]["server"]["pid"], server.pid, "{:#}", record["target"]);
    let text = shown(&url, &named);
    assert!(text.contains("sock_diag could not be read") && text.contains(WHY), "{text}");
}

#[test]
fn a_probe_there_serves_what_it_can_read() {
    let _turn = turn();
    let (folder, server) = (Folder::new("no-diag"), Server::start("target-sink", &[]));
    let url = server.url("/simple");
    let probe = Probe::start(&folder, &[]);
    let (said, record) = brief(&url, &probe.flags());
    assert!(said.stderr.contains("sees its host and no server process"), "{}", said.stderr);
    let far = &record["target"]["probe"];
    assert_eq!((&far["lost"], &far["server"]), (&Value::Null, &Value::Null), "{far:#}");
    let probe = Probe::start(&folder, &["--server-pid", &server.pid.to_string()]);
    let (_, record) = brief(&url, &probe.flags());
    assert_eq!(count(&record, "/target/probe/server/pid"), u64::from(server.pid));
    let text = shown(&url, &probe.flags());
    assert!(text.contains("could not be read on the server's host"), "{text}");
}
