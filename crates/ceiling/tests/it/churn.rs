//! Connections that come and go: all are accounted for, on both sides.

use crate::harness::{Finished, Server, ceiling, code_of, count, measure, shown, signal, turn};
use serde_json::Value;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

fn point(record: &Value) -> &Value {
    &record["points"][0]
}

/// Connections that were established in the whole run.
fn established(record: &Value) -> u64 {
    let used = record["target"]["addresses_used"].as_array().unwrap();
    used.iter().map(|address| count(address, "/connections")).sum()
}

/// Every earlier and every new connection was closed or is still open; returns the number of new
/// ones.
fn assert_accounts(point: &Value) -> u64 {
    let of = |name: &str| count(&point["turnover"], &format!("/{name}"));
    let came = of("open_before") + of("established");
    let went = of("closed_by_us") + of("closed_by_peer");
    assert_eq!(came, went + of("open_after"), "{}", point["turnover"]);
    assert_eq!(count(point, "/turnover/connect_ns/count"), of("established"));
    of("established")
}

#[test]
fn devices_and_the_server_count_the_same_connections() {
    let _turn = turn();
    let cases = [
        ("1", "uring", "tcp", "200ms±50%"),
        ("2", "epoll", "tcp", "200ms"),
        ("2", "uring", "http", "200ms"),
        ("1", "epoll", "http", "0"),
    ];
    for (listeners, driver, scheme, hold) in cases {
        let server = Server::start("target-nethttp", &["--listeners", listeners]);
        let url = server.url("/simple");
        let tcp = format!("tcp://127.0.0.1:{}", server.port);
        let url = if scheme == "tcp" { &tcp } else { &url };
        let churn = ["churn", url, "--devices", "40", "--hold", hold, "--driver", driver];
        let (code, record) = measure(&[&churn[..], &["-d", "3", "--ramp-up", "200ms"]].concat());
        let point = point(&record);
        let case = format!("{listeners} {driver} {scheme} {hold} {}", point["turnover"]);
        assert_eq!(code, code_of(&record), "{case}: {}", shown(&record));
        let came = assert_accounts(point);
        assert!(came > 60, "{case}");
        assert_eq!(count(&point["turnover"], "/failed"), 0, "{case}");
        assert_eq!(count(&point["turnover"], "/closed_by_peer"), 0, "{case}");
        if hold != "0" {
            // 40 devices of 200 ms each, less the time to connect.
            assert!(came <= 620, "{case}");
        }
        let end = server.stop();
        // The preflight opened one more.
        assert_eq!(count(&end, "/connections_accepted"), established(&record) + 1, "{case}");
        let asked = count(&end, "/requests_served");
        assert_eq!(asked > 0, scheme == "http", "{case}");
    }
}

#[test]
fn a_server_that_closes_first_is_told_from_us() {
    let _turn = turn();
    let silently = ["--threads", "1", "--close-after", "1", "--close-silently"];
    let server = Server::start("target-sink", &silently);
    let url = server.url("/");
    // So long that a generator that gets no CPU for a while does not close first.
    let churn = ["churn", &url, "--devices", "20", "--hold", "10m", "-d", "1"];
    let churn = [&churn[..], &["--ramp-up", "200ms"]].concat();
    let (_, record) = measure(&churn);
    assert!(assert_accounts(point(&record)) > 0);
    let turnover = &point(&record)["turnover"];
    assert!(count(turnover, "/closed_by_peer") > 0, "{turnover}");
    assert_eq!(count(turnover, "/closed_by_us"), 0, "{turnover}");
}

#[test]
fn connections_end_after_their_requests() {
    let _turn = turn();
    for (limit, driver, least, most) in [("10", "uring", 10, 10), ("5:15", "epoll", 5, 15)] {
        let server = Server::start("target-nethttp", &[]);
        let url = server.url("/simple");
        let load = ["load", &url, "-c", "8", "-n", "1000", "--driver", driver];
        let (_, record) = measure(&[&load[..], &["--requests-per-conn", limit]].concat());
        let requests = &point(&record)["requests"];
        assert_eq!(count(requests, "/completed"), 1000, "{requests}");
        assert_accounts(point(&record));
        let opened = established(&record);
        // Each connection but the last of each client made all its requests.
        let (fewest, most) = (1000u64.div_ceil(most), 1000 / least + 8);
        assert!((fewest..=most).contains(&opened), "{limit}: {opened}");
        let end = server.stop();
        assert_eq!(count(&end, "/connections_accepted"), opened + 1, "{limit}");
        assert_eq!(count(&end, "/requests_served"), 1000, "{limit}");
    }
}

#[test]
fn ctrl_c_ends_each_phase_with_a_record() {
    let _turn = turn();
    let server = Server::start("target-nethttp", &[]);
    let url = server.url("/simple");
    let cases = [
        ("ramp-up", ["--ramp-up", "60s", "-d", "1s", "--ramp-down", "60s"], 0),
        ("window", ["--ramp-up", "100ms", "-d", "60s", "--ramp-down", "60s"], 1),
        ("ramp-down", ["--ramp-up", "100ms", "-d", "200ms", "--ramp-down", "60s"], 1),
    ];
    for (phase, spans, points) in cases {
        let churn = ["churn", &url, "--devices", "50", "--hold", "300ms", "--json"];
        let mut command = ceiling(&[&churn[..], &spans].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // In the middle of the phase that lasts for a minute.
        thread::sleep(Duration::from_secs(5));
        let asked = Instant::now();
        signal(child.id(), "INT");
        let said = Finished::of(child.wait_with_output().unwrap());
        assert!(asked.elapsed() < Duration::from_secs(30), "{phase}: {:?}", asked.elapsed());
        assert_eq!(said.code, 130, "{phase}: {}", said.stderr);
        let record = said.record();
        assert_eq!(record["outcome"], "interrupted", "{phase}");
        assert_eq!(record["points"].as_array().unwrap().len(), points, "{phase}");
        if points > 0 {
            assert!(assert_accounts(point(&record)) > 0, "{phase}");
        }
    }
}
