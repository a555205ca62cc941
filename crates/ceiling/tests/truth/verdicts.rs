//! Servers and generators whose true wall is known by construction.

use crate::harness::{
    Finished, Group, Server, ceiling, count, measure, measure_wall, must_be_root, program, shown,
    turn, wall,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn a_quota_on_the_server_or_on_its_parent_is_s3() {
    let _turn = turn();
    must_be_root();
    for limited in ["own", "parent"] {
        let parent = Group::new("parent", None);
        let own = Group::new("own", Some(&parent));
        if limited == "own" {
            own.limit(0.25)
        } else {
            parent.limit(0.25)
        }
        let command = own.command(&program("target-sink"));
        let server = Server::start_as(command, &["--threads", "1", "--burn", "20us"]);
        let url = server.url("/simple");
        let (code, record) = measure_wall(&["S3"], &["load", &url, "-c", "16", "-d", "4"]);
        assert_eq!(record["verdict"]["side"], "server");
        assert_eq!(record["verdict"]["ceiling"]["kind"], "ceiling");
        assert_eq!(code, 0, "{limited}: {}", shown(&record));
        let group = record["verdict"]["evidence"][0]["source"].as_str().unwrap();
        assert!(group.contains(&format!("ceiling-test-{limited}")), "{group}");
        drop(server);
    }
}

#[test]
fn a_server_with_one_thread_is_s2() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--burn", "100us"]);
    let ramp = ["ramp", &server.url("/"), "-c", "1..64*4", "-d", "2"];
    let (code, record) = measure_wall(&["S2"], &ramp);
    assert_eq!(code, 0, "{}", shown(&record));
}

#[test]
fn a_starved_generator_is_named_first_and_the_number_is_not_the_servers() {
    let _turn = turn();
    must_be_root();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let group = Group::new("generator", None);
    group.limit(0.20);
    let url = server.url("/");
    let mut command = group.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    command.args(["load", &url, "-c", "50", "-d", "4"]).env("CEILING_RUNS", "none");
    let said = Finished::of(command.output().unwrap());
    assert_eq!(said.code, 4, "{}{}", said.stdout, said.stderr);
    let first = said.stdout.lines().find(|line| line.starts_with('▌')).unwrap_or_default();
    assert!(first.contains("the generator is the wall: client CPUs (C1)"), "{}", said.stdout);
}

/// Pins this thread, and the threads that it starts, to CPU 0.
fn stay_on_cpu_0() {
    let thread = std::fs::read_link("/proc/thread-self").unwrap();
    let tid = thread.file_name().unwrap();
    let pinned = Command::new("taskset").args(["-p", "-c", "0"]).arg(tid).output().unwrap();
    assert!(pinned.status.success(), "{}", String::from_utf8_lossy(&pinned.stderr));
}

/// A server on CPU 0 whose responses are cheap to write and expensive to read: thousands of chunks
/// of one byte.
fn serve_tiny_chunks() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let body = format!("{}0\r\n\r\n", "1\r\na\r\n".repeat(5000));
    let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    thread::spawn(move || {
        stay_on_cpu_0();
        for mut stream in listener.incoming().flatten() {
            let response = response.clone();
            // One request is in flight on each connection, and one read returns all of it.
            thread::spawn(move || {
                let mut input = [0; 4096];
                while let Ok(1..) = stream.read(&mut input) {
                    if stream.write_all(response.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn one_worker_at_its_limit_is_the_clients_wall() {
    let _turn = turn();
    let url = format!("http://{}/", serve_tiny_chunks());
    let load = ["load", &url, "-c", "16", "-t", "1", "--cpus", "1", "-d", "3"];
    let (code, record) = measure_wall(&["C1", "C2"], &load);
    assert_eq!(record["verdict"]["side"], "client", "{}", shown(&record));
    assert_eq!(record["verdict"]["ceiling"]["kind"], "at-least", "{}", shown(&record));
    assert_eq!(code, 4, "{}", shown(&record));
}

#[test]
fn little_load_inside_an_idle_server_names_no_limit() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--delay", "fixed:50ms"]);
    let load = ["load", &server.url("/"), "-c", "8", "-d", "3"];
    let (code, record) = measure_wall(&["unknown"], &load);
    assert_eq!(record["verdict"]["ceiling"]["kind"], "at-least");
    let name = record["verdict"]["name"].as_str().unwrap();
    assert!(name.starts_with("the requests were inside the server"), "{name}");
    let next = &record["verdict"]["next"][0];
    assert_eq!(next["command"][1], "ramp", "more load would decide it: {next}");
    assert_eq!(code, 0, "{}", shown(&record));
    let rate = record["points"][0]["rate"].as_f64().unwrap();
    assert!((rate - 160.0).abs() < 8.0, "8 at a time for 50 ms: {rate}");
}

#[test]
fn descriptors_that_run_out_under_way_are_c8() {
    let _turn = turn();
    must_be_root();
    let server = Server::start("target-sink", &["--threads", "1"]);
    let url = server.url("/");
    let load = ["load", &url, "-c", "50", "-d", "4", "--warmup", "0", "--json"];
    let mut command = ceiling(&load);
    // With uring on Linux 6.13 or later, connections use no file descriptors of the process.
    command
        .args(["-H", "Connection: close", "--driver", "epoll"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    thread::sleep(Duration::from_millis(1500));
    let limit = Command::new("prlimit")
        .args(["--pid", &child.id().to_string(), "--nofile=25:25"])
        .status()
        .unwrap();
    assert!(limit.success());
    let said = Finished::of(child.wait_with_output().unwrap());
    let record = said.record();
    assert!(count(&record["points"][0], "/errors/fds") > 0, "{}", shown(&record));
    assert_eq!(said.code, 4);
    assert_eq!(wall(&record), "C8", "{}", shown(&record));
}

#[test]
fn a_slow_acceptor_with_a_tiny_backlog_is_k1() {
    let _turn = turn();
    let arguments =
        ["--threads", "1", "--single-listener", "--backlog", "4", "--accept-delay", "10ms"];
    let server = Server::start("target-sink", &arguments);
    let url = server.url("/");
    let (_, record) = measure(&["load", &url, "-c", "64", "-d", "5", "-H", "Connection: close"]);
    assert_eq!(wall(&record), "K1", "{}", shown(&record));
    assert_eq!(record["verdict"]["side"], "server");
}

#[test]
fn a_server_without_descriptors_is_k3() {
    let _turn = turn();
    let arguments = ["--threads", "1", "--single-listener", "--max-fds", "40", "--backlog", "16"];
    let server = Server::start("target-sink", &arguments);
    let url = server.url("/");
    let (code, record) = measure(&["load", &url, "-c", "200", "-d", "3", "-T", "2s", "--strict"]);
    assert_eq!(wall(&record), "K3", "{}", shown(&record));
    assert_eq!(code, 4, "connections that were never served break a gate");
}
