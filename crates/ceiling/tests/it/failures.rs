//! Failures that a person can act on: the server's response is kept, without secrets, and responses
//! that an option declares good are good.

use crate::harness::{Folder, Server, code_of_good, count, measure, program, run, shown, turn};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

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

/// A script that reads the exit code must not take a broken service for a good one.
#[test]
fn a_run_without_a_good_response_is_no_success() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let nope = server.url("/nope");
    let short = ["-t", "1", "--warmup", "0"];
    let commands: [&[&str]; 6] = [
        &["load", &nope, "-n", "50", "-c", "2"],
        &["load", &nope, "-R", "100", "-d", "200ms"],
        &["load", &nope, "-n", "50", "--json"],
        &["ramp", &nope, "-c", "1..2", "-d", "200ms", "--repeats", "0"],
        &["churn", &nope, "--devices", "2", "--hold", "50ms", "-d", "300ms"],
        &["fanout", &nope, "-c", "2", "-d", "300ms"],
    ];
    for command in commands {
        let said = run(&[command, &short].concat());
        assert_eq!(said.code, 3, "{command:?}: {}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains("no good response came"), "{command:?}: {}", said.stderr);
        assert!(said.stderr.contains("--check-status 404"), "{command:?}: {}", said.stderr);
    }
    let load = ["load", &nope, "-n", "50", "-c", "2", "-t", "1"];
    for (more, completed) in [(["--check-status", "404"], 50), (["--expect", "errors<=100%"], 0)] {
        let said = run(&[&load[..], &more, &["--json"]].concat());
        assert!(!said.stderr.contains("no good response came"), "{more:?}: {}", said.stderr);
        let record = said.record();
        assert_eq!(said.code, code_of_good(&record), "{more:?}: {}", shown(&record));
        assert_eq!(count(&record, "/points/0/requests/completed"), completed, "{more:?}");
    }
    let folder = Folder::new("nothing-good");
    let junit = folder.file("junit.xml");
    assert_eq!(run(&[&load[..], &["--junit", &junit]].concat()).code, 3);
    let cases = std::fs::read_to_string(junit).unwrap();
    assert!(cases.contains("no good response came"), "{cases}");
}

#[test]
fn a_hint_names_the_url_that_failed() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let folder = Folder::new("hint-url");
    let mix = folder.file("mix.jsonl");
    let lines = "{\"url\":\"/read\"}\n{\"url\":\"/gone?a=1\",\"method\":\"PUT\"}\n";
    std::fs::write(&mix, lines).unwrap();
    let url = server.url("");
    let short = ["-t", "1", "--warmup", "0", "-d", "300ms", "-c", "2", "--json"];
    for (words, look) in [
        (vec!["fanout", &url], format!("curl -v {url}/events/1")),
        (vec!["fanout", &url, "--events", "/s"], format!("curl -v {url}/s")),
        (vec!["load", &server.url("/x?b=2&c=3")], format!("curl -v '{url}/x?b=2&c=3'")),
        (vec!["load", &server.url("/y"), "-X", "DELETE"], format!("curl -v -X DELETE {url}/y")),
    ] {
        let said = run(&[&words[..], &short].concat());
        let next = said.record()["verdict"]["next"].to_string();
        assert!(next.contains(&look), "{words:?}: {look} in {next}");
    }
}

/// Both could not be the cause of a failure.
#[test]
fn a_server_that_responds_over_http_is_not_told_to_speak_tls() {
    let _turn = turn();
    let port = both_protocols();
    for (path, is_told) in [("/404", false), ("/503", false), ("/400", true)] {
        let record = load(&format!("http://127.0.0.1:{port}{path}"), &[]);
        let notices = record["notices"].to_string();
        assert_eq!(notices.contains("speaks TLS"), is_told, "{path}: {notices}");
    }
}

/// A gateway on one port: it answers TLS with an alert, and HTTP with the status of the path.
fn both_protocols() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    if bytes[0] == 22 {
                        let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, 40]);
                        return;
                    }
                    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                    let status = text.split(['/', ' ']).nth(2).unwrap_or("400");
                    let head = format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n");
                    if stream.write_all(head.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}
