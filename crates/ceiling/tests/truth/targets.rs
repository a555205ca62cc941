//! Each Go target and the sink at one load: no gate fails, and our own code is fast.

use crate::harness::{Server, measure, program, turn};
use serde_json::Value;
use std::process::Command;

/// Gates that a shared machine can break. `resolution` breaks where the host stopped the generator
/// long enough to move p99.9.
const OF_NEIGHBOURS: [&str; 3] = ["steadiness", "cpu_states", "resolution"];

/// All gates hold, except those that a shared machine can break, and the median is known.
fn assert_gates_hold(point: &Value, context: &str) {
    for gate in point["gates"].as_array().unwrap() {
        let is_of_neighbours = OF_NEIGHBOURS.contains(&gate["id"].as_str().unwrap());
        assert!(gate["ok"] != false || is_of_neighbours, "{context}: {gate}");
    }
    let median = &point["standing"]["p50"];
    assert!(median.is_null(), "{context}: {median}");
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
        for (name, arguments) in targets {
            // Each on a CPU of its own: a generator that waits for the server's CPU is late.
            let mut command = Command::new("taskset");
            command.args(["-c", "0"]).arg(program(name));
            let server = Server::start_as(command, arguments);
            let url = server.url("/read");
            let load = ["load", &url, "-c", "50", "-d", "2", "--warmup", "200ms", "--cpus", "1"];
            let (_, record) = measure(&[&load[..], &["--driver", driver]].concat());
            assert_gates_hold(&record["points"][0], &format!("{name} {arguments:?} {driver}"));
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
