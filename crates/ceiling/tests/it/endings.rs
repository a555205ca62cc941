//! Runs that end early, and servers that misbehave: nothing is lost, nothing hangs.

use crate::harness::{
    Finished, Folder, PATIENCE, Server, await_point, ceiling, count, measure, run, signal, turn,
    wait_until,
};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn ctrl_c_writes_what_there_is() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:1ms"]);
    let folder = Folder::new("interrupt");
    let (url, file) = (server.url("/"), folder.file("partial.json"));
    let runs = folder.file("runs");
    let mut command = ceiling(&["ramp", &url, "-c", "1..64", "-d", "2", "-o", &file]);
    command.env("CEILING_RUNS", &runs).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    await_point(&runs);
    signal(child.id(), "INT");
    let said = Finished::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{}", said.stderr);
    let record: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(record["outcome"], "interrupted");
    let points = record["points"].as_array().unwrap();
    assert!(!points.is_empty() && points.len() < 7);
    assert!(count(&points[0], "/requests/completed") > 0, "the first level was finished");
    for point in points {
        let requests = &point["requests"];
        let fates =
            ["completed", "failed", "unanswered"].map(|name| count(requests, &format!("/{name}")));
        assert_eq!(count(requests, "/sent"), fates.iter().sum::<u64>());
    }
    // The run directory has this run, and it can be shown again.
    let kept = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let shown = run(&["show", kept.to_str().unwrap()]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.to_lowercase().contains("interrupted"), "{}", shown.stdout);
}

#[test]
fn ctrl_c_before_anything_was_measured_shows_no_figures() {
    let _turn = turn();
    for format in ["--json", "--no-color"] {
        let server = Server::start("target-sink", &["--threads", "1"]);
        let url = server.url("/");
        let mut command = ceiling(&["load", &url, "-c", "4", "--warmup", "30s", format]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // In the middle of a long warm-up.
        wait_until("a warm-up", || server.served() > 50);
        signal(child.id(), "INT");
        let said = Finished::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 130, "{}", said.stderr);
        if format == "--json" {
            let record = said.record();
            assert_eq!(record["points"].as_array().unwrap().len(), 0);
            let notices = record["notices"].to_string();
            assert!(notices.contains("ended before the measurement"), "{notices}");
        } else {
            assert!(said.stdout.contains("INTERRUPTED before"), "{}", said.stdout);
            assert!(!said.stdout.contains("NOT A VALID"), "{}", said.stdout);
        }
    }
}

#[test]
fn a_target_that_never_responds_is_not_called_a_bad_measurement() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:60s"]);
    let said = run(&["load", &server.url("/"), "-c", "4", "-d", "1", "-T", "1s"]);
    assert_eq!(said.code, 5, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("no request got a response"), "{}", said.stdout);
}

#[test]
fn a_number_of_requests_is_that_many_fates_however_slow_the_server() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:3s"]);
    let (_, record) = measure(&["load", &server.url("/"), "-n", "10", "-c", "10"]);
    let requests = &record["points"][0]["requests"];
    assert_eq!(["completed", "unanswered"].map(|one| count(requests, &format!("/{one}"))), [10, 0]);
    assert_eq!(count(requests, "/arrived"), 10);
    // The window ends with the fate of the last request.
    let duration_s = record["points"][0]["load"]["duration_s"].as_f64().unwrap();
    assert!(duration_s >= 3.0, "{duration_s}");
}

#[test]
fn a_drain_waits_as_long_as_a_request_may_take() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "exp:800ms"]);
    let (_, record) = measure(&["load", &server.url("/"), "-c", "50", "-d", "2"]);
    let requests = &record["points"][0]["requests"];
    let [sent, completed] = ["sent", "completed"].map(|one| count(requests, &format!("/{one}")));
    assert!(sent > 0 && sent == completed, "{requests}");
}

#[test]
fn ctrl_c_in_a_drain_ends_it() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:60s"]);
    let url = server.url("/");
    let mut command = ceiling(&["load", &url, "-c", "4", "-d", "1", "--warmup", "0", "-T", "50s"]);
    let child = command.args(["--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    std::thread::sleep(Duration::from_secs(4));
    let asked = Instant::now();
    signal(child.id(), "INT");
    let said = Finished::of(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < Duration::from_secs(20), "it does not wait for the time-out");
    let record = said.record();
    let requests = &record["points"][0]["requests"];
    assert_eq!(["sent", "unanswered"].map(|one| count(requests, &format!("/{one}"))), [4, 4]);
}

#[test]
fn a_server_that_dies_ends_the_run_with_a_partial_record() {
    let _turn = turn();
    let mut server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:1ms"]);
    let url = server.url("/");
    let folder = Folder::new("target-lost");
    let runs = folder.file("runs");
    let ramp = ["ramp", &url, "-c", "2..256", "-d", "2", "--json", "--runs", &runs];
    let child = ceiling(&ramp).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_point(&runs);
    server.kill();
    let said = Finished::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 5, "{}", said.stderr);
    let record = said.record();
    assert_eq!(record["outcome"], "target-lost");
    assert_eq!(record["verdict"]["name"], "the target stopped answering");
    assert!(count(&record["points"][0], "/requests/completed") > 0);
}

#[test]
fn a_server_that_is_stopped_is_found_by_what_never_comes() {
    let _turn = turn();
    let manners: [&[&str]; 3] = [&[], &["-R", "100"], &["-p", "4", "--driver", "epoll"]];
    let loads = manners.map(|manner| {
        let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:1ms"]);
        let url = server.url("/");
        let usual = ["load", &url, "-c", "4", "-d", "8", "-T", "1s", "--warmup", "0", "--json"];
        let mut command = ceiling(&[&usual, manner].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        (server, child)
    });
    // A load that no server has answered yet would say that the target never answered.
    for (server, _) in &loads {
        wait_until("responses", || server.served() > 20);
        signal(server.pid, "STOP");
    }
    for (_server, child) in loads {
        let said = Finished::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 5, "{}", said.stderr);
        let record = said.record();
        let (point, verdict) = (&record["points"][0], &record["verdict"]);
        assert_eq!(record["outcome"], "target-lost");
        assert!(count(point, "/stopped/waited") > 0, "{}", point["stopped"]);
        assert_eq!(
            (&verdict["wall"], &point["verdict"]["wall"]),
            (&json!("unknown"), &json!("unknown"))
        );
        let name = verdict["name"].as_str().unwrap();
        assert!(name.starts_with("the target stopped responding after "), "{name}");
        let requests = &point["requests"];
        let of = |name: &str| count(requests, &format!("/{name}"));
        assert_eq!(of("sent"), of("completed") + of("failed") + of("unanswered"));
    }
}

/// Two requests are sent at once, and the server closes after five responses: the sixth request is
/// not processed.
#[test]
fn requests_that_the_server_did_not_take_have_a_name_and_are_sent_again_when_asked() {
    let _turn = turn();
    let sink = ["--threads", "1", "--close-after", "5", "--close-silently"];
    let server = Server::start("target-sink", &sink);
    let url = server.url("/");
    let load = ["load", &url, "-c", "2", "-p", "2", "-n", "1000", "--warmup", "0"];
    let (_, record) = measure(&load);
    let point = &record["points"][0];
    let of = |point: &Value, path: &str| count(point, path);
    let unprocessed = of(point, "/errors/unprocessed");
    assert!(unprocessed > 0 && of(point, "/requests/failed") == unprocessed, "{}", point["errors"]);
    assert_eq!(of(point, "/requests/sent"), of(point, "/requests/completed") + unprocessed);
    assert!(of(point, "/connections/crossed/connections") > 0, "{}", point["connections"]);
    let said = run(&load);
    assert!(said.stdout.contains("% of 1000 requests unprocessed"), "{}", said.stdout);
    assert!(said.stdout.contains("The server closes connections"), "{}", said.stdout);
    assert!(said.stdout.contains("--retry-unprocessed"), "{}", said.stdout);
    for (more, is_again) in [
        (&["--retry-unprocessed"][..], true),
        (&["--retry-unprocessed", "-X", "POST"][..], false),
        (&["--retry-unprocessed=any", "-X", "POST"][..], true),
    ] {
        let (_, record) = measure(&[&load, more].concat());
        let point = &record["points"][0];
        let [sent, completed] =
            ["sent", "completed"].map(|name| of(point, &format!("/requests/{name}")));
        assert_eq!(sent, 1000);
        assert_eq!(completed == 1000, is_again, "{more:?}: {}", point["requests"]);
        assert_eq!(point["requests"]["retried"].as_u64().unwrap_or(0) > 0, is_again, "{more:?}");
    }
}

#[test]
fn few_requests_are_told_as_what_happened() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/");
    let said = run(&["load", &url, "-c", "2", "-R", "0.4", "-d", "3", "--warmup", "0"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[0].contains("2 requests, "), "{}", said.stdout);
    assert!(said.stdout.contains("of 0.40/s asked"), "{}", said.stdout);
    let said = run(&["load", &url, "-c", "50", "-n", "1", "--warmup", "0"]);
    assert!(said.stdout.contains("1 request, "), "{}", said.stdout);
    let rate = said.stdout.lines().find(|line| line.trim_start().starts_with("Rate")).unwrap();
    assert!(rate.contains(".."), "the rate has bounds: {rate}");
}

/// So many requests that faults happen, however slow this host is.
const MANY: [&str; 2] = ["-n", "3000"];
const PIPELINED: [&str; 4] = ["-n", "3000", "-p", "4"];

/// A load against a sink with a fault, with each driver: it must end in time, with every request
/// accounted for. `look` checks the point of each.
fn survives(fault: &[&str], more: &[&str], look: impl Fn(&Value)) {
    for driver in ["epoll", "uring"] {
        look(&survives_on(driver, fault, more));
    }
}

fn survives_on(driver: &str, fault: &[&str], more: &[&str]) -> Value {
    let server = Server::start("target-sink", &[&["--threads", "1"], fault].concat());
    let url = server.url("/bytes/200");
    let begin = Instant::now();
    let load = ["load", &url, "--driver", driver, "-c", "8", "--warmup", "0", "-T", "1s"];
    let (_, record) = measure(&[&load, more].concat());
    assert!(begin.elapsed() < PATIENCE, "{fault:?}: it ends");
    let point = record["points"][0].clone();
    let requests = &point["requests"];
    let fates =
        ["completed", "failed", "unanswered"].map(|name| count(requests, &format!("/{name}")));
    assert_eq!(count(requests, "/sent"), fates.iter().sum::<u64>(), "{fault:?}");
    point
}

#[test]
fn hostile_responses_are_counted_and_never_crash_or_hang() {
    let _turn = turn();
    survives(&["--garbage", "5%"], &MANY, |point| {
        assert!(count(point, "/errors/parse") > 0);
    });
    survives(&["--truncate", "5%"], &PIPELINED, |point| {
        assert!(count(point, "/errors/parse") > 0, "a truncated response is not a response");
    });
    survives(&["--close-after", "10", "--close-silently"], &PIPELINED, |point| {
        assert!(count(point, "/errors/unprocessed") > 0, "used connections");
        assert!(count(point, "/requests/completed") > 0);
    });
    survives(&["--close-after", "10", "--reset", "--close-silently"], &PIPELINED, |point| {
        let of = |class: &str| count(point, &format!("/errors/{class}"));
        assert!(of("unprocessed") > of("closed"), "{}", point["errors"]);
    });
    survives(&["--status", "500:10%"], &MANY, |point| {
        let share = count(point, "/status/5xx") as f64 / count(point, "/requests/sent") as f64;
        assert!((share - 0.1).abs() < 0.03, "{share}");
    });
    survives(&["--slow-bytes", "7/100us"], &MANY, |point| {
        assert!(count(point, "/requests/completed") > 0);
        assert_eq!(count(point, "/requests/failed"), 0);
    });
    survives(&["--delay", "fixed:10s"], &["-d", "1"], |point| {
        assert_eq!(count(point, "/requests/completed"), 0);
        assert!(point["latency_ns"]["p50"].is_null(), "no response, no median");
    });
}

#[test]
fn every_format_is_written_and_a_run_can_be_drawn_again() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:1ms"]);
    let folder = Folder::new("formats");
    let url = server.url("/");
    let files = ["r.json", "r.csv", "r.hlog", "r.html"].map(|name| folder.file(name));
    let mut arguments = vec!["load", &url, "-c", "4", "-d", "1", "-q"];
    for file in &files {
        arguments.extend(["-o", file]);
    }
    let said = run(&arguments);
    assert!(said.code == 0 || said.code == 4, "{}", said.stderr);
    assert_eq!(said.stdout, "", "-q prints nothing");
    let read = |at: usize| fs::read_to_string(&files[at]).unwrap();
    assert!(read(1).lines().count() == 2 && read(2).contains("HIST"));
    assert!(read(3).to_lowercase().starts_with("<!doctype html>"));
    let redrawn = run(&["show", &files[0], "--json"]);
    assert_eq!(redrawn.stdout, read(0), "reading and writing a record changes nothing");
    let leftovers: Vec<_> = fs::read_dir(&folder.path).unwrap().collect();
    assert_eq!(leftovers.len(), 4, "no drafts remain");
}
