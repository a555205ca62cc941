//! Connections that come and go: all of them are accounted for, on both sides.

use crate::harness::{
    Namespace, Said, Server, ceiling, count, is_root, measure, measure_wall, program, shown,
    signal, turn, wall,
};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Stdio};
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

/// Those of before and those that came were closed or are there; gives how many came.
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
        let (code, record) = measure(&[&churn[..], &["-d", "1", "--ramp-up", "200ms"]].concat());
        let point = point(&record);
        let case = format!("{listeners} {driver} {scheme} {hold} {}", point["turnover"]);
        assert!(matches!(code, 0 | 4), "{case}: {}", shown(&record));
        let came = assert_accounts(point);
        assert!(came > 20, "{case}");
        assert_eq!(count(&point["turnover"], "/failed"), 0, "{case}");
        assert_eq!(count(&point["turnover"], "/closed_by_peer"), 0, "{case}");
        if hold != "0" {
            // 40 devices of 200 ms each, less the time to connect.
            assert!(came <= 220, "{case}");
        }
        let end = server.stop();
        // Whether somebody listens was tried with one more.
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
    let churn = ["churn", &url, "--devices", "20", "--hold", "100ms", "-d", "1"];
    let (_, record) = measure(&churn);
    assert!(assert_accounts(point(&record)) > 0);
    let turnover = &point(&record)["turnover"];
    assert!(count(turnover, "/closed_by_peer") > 0, "{turnover}");
    assert_eq!(count(turnover, "/closed_by_us"), 0, "{turnover}");
}

#[test]
fn connections_that_the_server_does_not_accept_are_k1_with_syns_repeated() {
    let _turn = turn();
    let arguments = ["--backlog", "8", "--accept-delay", "20ms"];
    let server = Server::start("target-nethttp", &arguments);
    let url = format!("tcp://127.0.0.1:{}", server.port);
    let churn = ["churn", &url, "--devices", "150", "--hold", "200ms", "-d", "3"];
    let (_, record) = measure_wall(&["K1"], &churn);
    assert_eq!(record["verdict"]["side"], "server", "{}", shown(&record));
    assert_accounts(point(&record));
    let evidence = record["verdict"]["evidence"].to_string();
    assert!(evidence.contains("ListenOverflows"), "{evidence}");
    let retries = point(&record)["turnover"]["syn_retries"].as_object().unwrap();
    let repeated: u64 = retries.values().filter_map(Value::as_u64).sum();
    assert!(retries.contains_key("1s") && repeated > 10, "{retries:?}");
}

#[test]
fn twenty_thousand_a_second_need_more_than_five_hundred_ports() {
    let _turn = turn();
    if !is_root("twenty_thousand_a_second_need_more_than_five_hundred_ports") {
        return;
    }
    let namespace = Namespace::new("churn");
    namespace.sysctl("net.ipv4.ip_local_port_range", "40000 40499");
    let server = Server::start_as(namespace.command(&program("target-nethttp")), &[]);
    let url = format!("tcp://127.0.0.1:{}", server.port);
    let churn = |more: &[&str]| {
        let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
        command.args(["churn", &url, "--devices", "400", "--hold", "20ms", "-d", "1"]).args(more);
        Said::of(command.env("CEILING_RUNS", "none").output().unwrap())
    };
    let refused = churn(&[]);
    assert_eq!(refused.code, 2, "{}{}", refused.stdout, refused.stderr);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    // A second of 20,000 in TIME_WAIT and 400 that are open, on 499 ports each.
    for word in ["C7", "of 500 are free", "needs 41 source addresses: --source auto"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    let solved = churn(&["--source", "auto", "--json"]);
    let record = solved.record();
    assert!(assert_accounts(point(&record)) > 0);
    assert_eq!(count(point(&record), "/errors/ports"), 0, "{}", point(&record)["errors"]);
    assert_ne!(wall(&record), "C7", "{}", shown(&record));
    let sources = record["target"]["sources_used"].as_array().unwrap();
    assert!(sources.len() >= 41, "{}", sources.len());
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
        // All but the last of each place were used up.
        let (fewest, most) = (1000u64.div_ceil(most), 1000 / least + 8);
        assert!((fewest..=most).contains(&opened), "{limit}: {opened}");
        let end = server.stop();
        assert_eq!(count(&end, "/connections_accepted"), opened + 1, "{limit}");
        assert_eq!(count(&end, "/requests_served"), 1000, "{limit}");
    }
}

/// Most memory that a process ever had resident, bytes.
fn most_resident(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Holds so many connections for a moment; gives the record and the most memory seen from outside.
/// On a busy machine some may open late, or the run may be no valid measurement: then once more.
fn hold(connections: u64) -> (Value, u64) {
    let (count_of, hold) = (connections.to_string(), ["--hold", "forever", "-d", "500ms"]);
    for _ in 0..5 {
        let server = Server::start("target-nethttp", &[]);
        let url = format!("tcp://127.0.0.1:{}", server.port);
        let churn = ["churn", &url, "-c", &count_of, "--ramp-up", "1s", "--json"];
        let mut command = ceiling(&[&churn[..], &hold].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            most = most_resident(&child).unwrap_or(most);
            thread::sleep(Duration::from_millis(20));
        }
        let said = Said::of(child.wait_with_output().unwrap());
        assert!(said.code == 0 || said.code == 4, "{}{}", said.stdout, said.stderr);
        let (record, end) = (said.record(), server.stop());
        if said.code == 0 && assert_accounts(point(&record)) == 0 {
            assert_eq!(count(&end, "/connections_accepted"), connections + 1);
            return (record, most);
        }
    }
    panic!("five times {connections} connections were not open before the window");
}

#[test]
fn thousands_of_idle_connections_are_held_for_little_memory() {
    let _turn = turn();
    let (_, few) = hold(100);
    let (record, many) = hold(5000);
    let point = point(&record);
    let turnover = &point["turnover"];
    assert_eq!(count(turnover, "/open_before"), 5000, "{turnover}");
    assert_eq!(count(turnover, "/open_after"), 5000, "{turnover}");
    // That others use the server's CPUs may be said on a shared machine; no other wall is there.
    assert!(matches!(wall(&record), "none" | "unknown" | "S6"), "{}", shown(&record));
    for errors in point["errors"].as_object().unwrap().values() {
        assert_eq!(errors.as_u64(), Some(0), "{}", point["errors"]);
    }
    // What is told is all that was taken for the load, whatever the number of connections, so of
    // 5000 each has its part. Seen from outside, one more costs the rest.
    let told = turnover["client_bytes_each"].as_f64().unwrap();
    let seen_each = (many - few) as f64 / 4900.0;
    assert!((100.0..2048.0).contains(&seen_each), "{seen_each}");
    assert!(told > seen_each * 0.9 && told * 5000.0 < many as f64, "{told}, but {seen_each}");
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
        thread::sleep(Duration::from_secs(2));
        let asked = Instant::now();
        signal(child.id(), "INT");
        let said = Said::of(child.wait_with_output().unwrap());
        assert!(asked.elapsed() < Duration::from_secs(8), "{phase}: {:?}", asked.elapsed());
        assert_eq!(said.code, 130, "{phase}: {}", said.stderr);
        let record = said.record();
        assert_eq!(record["outcome"], "interrupted", "{phase}");
        assert_eq!(record["points"].as_array().unwrap().len(), points, "{phase}");
        if points > 0 {
            assert!(assert_accounts(point(&record)) > 0, "{phase}");
        }
    }
}
