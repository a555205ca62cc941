//! Target files, templates and checks against real servers: what was asked for is sent, and the
//! responses are checked.

use crate::harness::{Folder, Server, count, measure, run, turn};
use serde_json::Value;
use std::fs;

/// A count-based load on one connection without warm-up, so that every figure is exact.
fn exactly(requests: &str, more: &[&str]) -> Value {
    let load = ["load", "-n", requests, "-c", "1", "-t", "1", "--seed", "7"];
    let (_, record) = measure(&[&load, more].concat());
    let point = record["points"][0].clone();
    let fates = |of: &Value| {
        ["sent", "completed", "failed", "unanswered"]
            .map(|name| count(of, &format!("/requests/{name}")))
    };
    let [sent, completed, failed, unanswered] = fates(&point);
    assert_eq!(sent, completed + failed + unanswered);
    let conservation = point["gates"].as_array().unwrap();
    let conservation = conservation.iter().find(|gate| gate["id"] == "conservation").unwrap();
    assert_eq!(conservation["ok"], true, "{conservation}");
    for (at, whole) in fates(&point).into_iter().enumerate() {
        let targets = point["targets"].as_array().unwrap();
        let sum: u64 = targets.iter().map(|target| fates(target)[at]).sum();
        assert!(targets.is_empty() || sum == whole, "{point}");
    }
    point
}

/// A figure of every target.
fn of_targets(point: &Value, path: &str) -> Vec<u64> {
    point["targets"].as_array().unwrap().iter().map(|target| count(target, path)).collect()
}

#[test]
fn a_mix_is_sent_in_exact_proportion_and_told_apart() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = Folder::new("mix");
    let file = folder.file("mix.jsonl");
    let lines = [
        r#"{"url":"/bytes/100","weight":3}"#,
        r#"{"url":"/chunked/5000","weight":2,"name":"chunks","check":{"length":"5000"}}"#,
        r#"{"url":"/status/503","method":"POST","body_text":"x"}"#,
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    for driver in ["epoll", "uring"] {
        let point = exactly("600", &[&server.url("/"), "-i", &file, "--driver", driver, "-p", "8"]);
        assert_eq!(of_targets(&point, "/requests/sent"), [300, 200, 100]);
        assert_eq!(of_targets(&point, "/requests/completed"), [300, 200, 0]);
        assert_eq!(of_targets(&point, "/status/5xx"), [0, 0, 100]);
        assert_eq!(of_targets(&point, "/latency_ns/count"), [300, 200, 0]);
        assert!(of_targets(&point, "/bytes_received")[1] > 200 * 5000);
        assert_eq!(point["targets"][0]["name"], "GET /bytes/100");
        assert_eq!(point["targets"][1]["name"], "chunks");
        assert_eq!(count(&point, "/mismatched"), 0);
    }
}

#[test]
fn every_expansion_is_a_request_of_its_own_and_comes_back() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let folder = Folder::new("templates");
    let csv = folder.file("users.csv");
    fs::write(&csv, "id,name\n1,Ann\n2,Bo\n3,Cy\n4,Di\n").unwrap();
    let url = server.url("/echo");
    // One of the four bodies has this hash, and all have the length.
    let ann = "e99fa515065faef8910f1ee29aaa2e09054a02498a07f81a80715e860a38e569";
    let body = format!("{{{{csv:{csv}:id}}}}={{{{csv:{csv}:name}}}}");
    let echo = [&url, "-b", &body, "--expand", "4"];
    let point = exactly("400", &[&echo[..], &["--check-sha256", ann]].concat());
    assert_eq!(count(&point, "/requests/completed"), 100, "sha256 of 1=Ann");
    assert_eq!(count(&point, "/mismatches/sha256"), 300);
    let point = exactly("400", &[&echo[..], &["--check-body", "=Bo"]].concat());
    assert_eq!(count(&point, "/requests/completed"), 100);
    assert_eq!((count(&point, "/mismatched"), count(&point, "/mismatches/body")), (300, 300));
    let point = exactly("400", &[&echo[..], &["--check-length", "4..5"]].concat());
    assert_eq!(count(&point, "/requests/completed"), 400);
    // Without --expand the same text is sent unchanged.
    let plain = [&url, "-b", "{{seq}}", "--check-body", "{{seq}}"];
    assert_eq!(count(&exactly("50", &plain), "/requests/completed"), 50);
}

#[test]
fn a_file_for_vegeta_needs_no_url_and_its_bodies_are_sent() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let folder = Folder::new("vegeta");
    let (file, body) = (folder.file("targets.txt"), folder.file("body.txt"));
    fs::write(&body, "from a file").unwrap();
    let (simple, echo) = (server.url("/simple"), server.url("/echo"));
    let text = format!("# a mix\nGET {simple}\nX-A: b\n\nPOST {echo}\nX-A: c\n@{body}\n");
    fs::write(&file, text).unwrap();
    let point = exactly("100", &["-i", &file, "--check-length", "11..16"]);
    assert_eq!(of_targets(&point, "/requests/completed"), [50, 50]);
    let point = exactly("100", &["-i", &file, "--check-body", "from a file"]);
    assert_eq!(of_targets(&point, "/mismatched"), [50, 0]);
}

#[test]
fn redirects_are_counted_and_not_followed() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/status/302");
    let said = run(&["load", &url, "-n", "200", "-c", "2", "-t", "1", "-v"]);
    assert!(said.stdout.contains("200 of 200 responses had a 3xx status"), "{}", said.stdout);
    let stopped = server.stop();
    assert_eq!(count(&stopped, "/requests_served"), 200, "each was asked once");
}

#[test]
fn a_status_that_was_not_asked_for_is_a_failure() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--status", "201:20%"]);
    let point = exactly("1000", &[&server.url("/"), "--check-status", "200"]);
    let mismatched = count(&point, "/mismatches/status");
    assert!((100..300).contains(&mismatched), "{mismatched}");
    assert_eq!(count(&point, "/requests/failed"), mismatched);
    assert_eq!(count(&point, "/status/2xx"), 1000, "the responses themselves are counted");
}
