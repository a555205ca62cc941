//! Failures that a person can act on: the server's response is kept, without secrets, and responses
//! that an option declares good are good.

use crate::harness::{Folder, Server, count, measure, program, run, turn};
use serde_json::{Value, json};
use std::process::Command;

fn load(url: &str, more: &[&str]) -> Value {
    let (_, record) = measure(&[&["load", url, "-n", "300", "-c", "2", "-t", "1"], more].concat());
    record
}

#[test]
fn the_first_response_of_each_failing_status_is_kept() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    for driver in ["epoll", "uring"] {
        let record = load(&server.url("/status/503"), &["-p", "4", "--driver", driver]);
        let point = &record["points"][0];
        assert_eq!(point["status_codes"], json!({ "503": 300 }));
        let samples = point["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 1, "{point}");
        assert_eq!(samples[0]["status"], 503);
        let line = samples[0]["head"][0].as_str().unwrap();
        assert!(line.starts_with("HTTP/1.1 503"), "{line}");
        assert_eq!(samples[0].get("body"), None, "bodies are kept only when asked for");
    }
}

#[test]
fn a_body_that_fails_a_check_is_kept_when_asked_for() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let asked = ["-b", "hello, it is me", "--check-body", "bye", "--sample-failures"];
    let record = load(&server.url("/echo"), &[&asked[..], &["-H", "X-Key: 1234567"]].concat());
    let sample = &record["points"][0]["samples"][0];
    assert_eq!((&sample["status"], &sample["check"]), (&json!(200), &json!("body")));
    assert_eq!(sample["body"], "***", "what the request sent is not kept, even by an echo");
    let record = load(&server.url("/simple"), &["--check-length", "1", "--sample-failures"]);
    let body = record["points"][0]["samples"][0]["body"].as_str().unwrap().to_string();
    assert!(body.len() > 1, "{record}");
}

#[test]
fn an_error_status_may_be_called_good() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let record = load(&server.url("/status/429"), &["--check-status", "2xx,429"]);
    let point = &record["points"][0];
    assert_eq!(count(point, "/requests/completed"), 300);
    assert_eq!((count(point, "/status/4xx"), &point["error_codes"]), (300, &json!({})));
    assert_eq!(point["status_codes"], json!({ "429": 300 }));
    let broken: Vec<_> = point["gates"].as_array().unwrap().iter().collect();
    let broken = broken.iter().filter(|gate| gate["ok"] == false);
    let broken: Vec<_> = broken.map(|gate| gate["id"].as_str().unwrap()).collect();
    assert!(!broken.contains(&"conservation") && !broken.contains(&"checks"), "{broken:?}");
    let record = load(&server.url("/status/404"), &["--check-status", "2xx,429"]);
    assert_eq!(count(&record["points"][0], "/requests/failed"), 300);
}

#[test]
fn a_name_without_an_address_is_an_unreachable_target() {
    let said = run(&["load", "http://no-such-host.invalid/", "-n", "1"]);
    assert_eq!(said.code, 5, "{}", said.stderr);
    assert!(said.stderr.contains("no-such-host.invalid"), "{}", said.stderr);
}

#[test]
fn placeholders_that_are_sent_as_they_stand_are_warned_about() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let url = server.url("/echo");
    let load = ["load", &url, "-n", "10", "-c", "1", "--runs", "none"];
    let said = run(&[&load[..], &["-b", "id={{seq}}"]].concat());
    assert!(said.stderr.contains("--expand"), "{}", said.stderr);
    let said = run(&[&load[..], &["-b", "a {{b}} c"]].concat());
    assert!(!said.stderr.contains("--expand"), "{}", said.stderr);
}

#[test]
fn plain_requests_to_a_tls_port_are_told_so() {
    let _turn = turn();
    let folder = Folder::new("tls-port");
    let made = Command::new(program("target-certs")).args(["--out", &folder.file("")]).output();
    assert!(made.unwrap().status.success());
    let (chain, key) = (folder.file("server.pem"), folder.file("server.key"));
    let server = Server::start("target-nethttp", &["--tls-cert", &chain, "--tls-key", &key]);
    let record = load(&server.url("/simple").replace("https:", "http:"), &[]);
    let notices = record["notices"].to_string();
    assert!(notices.contains("speaks TLS"), "{notices}");
}
