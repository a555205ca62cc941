//! A kernel without sock_diag, which `ss` also uses: the server is found and watched through
//! `/proc/net/tcp`, and the record says what that cannot show.

use crate::harness::probing::Probe;
use crate::harness::{Finished, Folder, Server, count, run, turn};
use serde_json::Value;
use std::fs;

/// The reason, given once in each place.
const WHY: &str = "this kernel has no inet_diag; where it is a module, modprobe tcp_diag loads it";

/// A load of 200 requests, all of which are served; returns the output and the record.
fn brief(url: &str, more: &[&str]) -> (Finished, Value) {
    let load = ["load", url, "-c", "4", "-n", "200", "-t", "1", "--json"];
    let said = run(&[&load, more].concat());
    let record = said.record();
    assert_eq!(count(&record, "/points/0/requests/completed"), 200, "{}", said.stderr);
    (said, record)
}

#[test]
fn a_server_is_found_and_what_is_lost_is_said() {
    let _turn = turn();
    let folder = Folder::new("no-diag-readings");
    let server = Server::start("target-sink", &["--threads", "1"]);
    let (said, record) = brief(&server.url("/simple"), &["--runs", &folder.file("runs")]);
    assert_eq!(said.stderr, "");
    let found = &record["target"]["server"];
    assert_eq!((&found["pid"], &found["listeners"]), (&server.pid.into(), &1.into()), "{found:#}");
    let lost = found["unreadable"].to_string();
    assert!(lost.contains(WHY) && lost.contains("lengths of accept queues"), "{lost}");
    let run = fs::read_dir(folder.file("runs")).unwrap().flatten().next().unwrap().path();
    let readings = fs::read_to_string(run.join("readings.ndjson")).unwrap();
    for source in ["listeners", "connections"] {
        let read = format!("\"source\":\"{source}\",\"values\":[{{");
        assert!(readings.contains(&read), "{source} were not read");
    }
}

/// The text of a load without `--json`, as one line.
fn shown(url: &str, more: &[&str]) -> String {
    let load = ["load", url, "-c", "4", "-n", "200", "-t", "1", "-vv"];
    let said = run(&[&load, more].concat());
    let words: Vec<_> = said.stdout.split_whitespace().collect();
    assert!(!words.is_empty(), "{}", said.stderr);
    words.join(" ")
}

#[test]
fn a_probe_there_serves_what_it_can_read() {
    let _turn = turn();
    let (folder, server) = (Folder::new("no-diag"), Server::start("target-sink", &[]));
    let url = server.url("/simple");
    let probe = Probe::start(&folder, &[]);
    let (said, record) = brief(&url, &probe.flags());
    assert_eq!(said.stderr, "");
    let far = &record["target"]["probe"];
    assert_eq!((&far["lost"], count(far, "/server/pid")), (&Value::Null, u64::from(server.pid)));
    let text = shown(&url, &probe.flags());
    assert!(text.contains(WHY), "{text}");
}
