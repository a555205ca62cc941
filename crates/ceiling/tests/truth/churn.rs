//! Connections that wait to be accepted, and the memory of idle connections.

use crate::harness::{Finished, Server, ceiling, count, measure_wall, shown, turn, wall};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

fn point(record: &Value) -> &Value {
    &record["points"][0]
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

/// Peak resident memory of a process in bytes.
fn most_resident(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Holds that many connections for a moment; returns the record and the peak memory seen from
/// outside.
fn hold(connections: u64) -> (Value, u64) {
    let (count_of, hold) = (connections.to_string(), ["--hold", "forever", "-d", "500ms"]);
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
    let said = Finished::of(child.wait_with_output().unwrap());
    let (record, end) = (said.record(), server.stop());
    assert_eq!(said.code, 0, "{}", shown(&record));
    assert_eq!(assert_accounts(point(&record)), 0, "all were open before the window");
    assert_eq!(count(&end, "/connections_accepted"), connections + 1);
    (record, most)
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
    // On a shared machine the verdict may be that others use the server's CPUs; there is no other
    // wall.
    assert!(matches!(wall(&record), "none" | "unknown" | "S6"), "{}", shown(&record));
    for errors in point["errors"].as_object().unwrap().values() {
        assert_eq!(errors.as_u64(), Some(0), "{}", point["errors"]);
    }
    // The report divides all memory of the load by the number of connections, so with 5000
    // connections each includes a share of the fixed cost. Seen from outside, one more connection
    // costs only the rest.
    let told = turnover["client_bytes_each"].as_f64().unwrap();
    let seen_each = (many - few) as f64 / 4900.0;
    assert!((100.0..2048.0).contains(&seen_each), "{seen_each}");
    assert!(told > seen_each * 0.9 && told * 5000.0 < many as f64, "{told}, but {seen_each}");
}
