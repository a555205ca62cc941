//! Each Go target and the sink at one load: no gate breaks, and our own code is fast.

use crate::harness::{Server, measure, turn};
use serde_json::Value;

/// All gates hold, except those that a shared machine can break.
fn assert_gates_hold(point: &Value, context: &str) {
    for gate in point["gates"].as_array().unwrap() {
        let depends_on_neighbours = gate["id"] == "steadiness" || gate["id"] == "cpu_states";
        assert!(gate["ok"] != false || depends_on_neighbours, "{context}: {gate}");
    }
}

#[test]
fn every_target_is_measured_with_all_gates_whole() {
    let _turn = turn();
    let targets: [(&str, &[&str]); 5] = [
        ("target-nethttp", &[]),
        ("target-fasthttp", &[]),
        ("target-fiber", &[]),
        ("target-fiber", &["--prefork", "--workers", "2"]),
        ("target-sink", &["--threads", "1"]),
    ];
    for driver in ["uring", "epoll"] {
        for (program, arguments) in targets {
            let server = Server::start(program, arguments);
            let url = server.url("/read");
            let load = ["load", &url, "-c", "50", "-d", "2", "--warmup", "200ms"];
            let (_, record) = measure(&[&load[..], &["--driver", driver]].concat());
            assert_gates_hold(&record["points"][0], &format!("{program} {arguments:?} {driver}"));
        }
    }
}

#[test]
fn the_null_driver_measures_our_own_code() {
    let _turn = turn();
    let null = ["load", "http://null/", "--driver", "null", "-d", "500ms", "-t", "1"];
    let (_, record) = measure(&null);
    assert!(record["points"][0]["rate"].as_f64().unwrap() > 100_000.0);
}
