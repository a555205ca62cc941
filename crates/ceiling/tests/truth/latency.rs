//! Latency in closed loop against servers with known delays, checked against their own records.

use crate::harness::{Server, count, measure, turn};

/// Percentiles of the record and of the server must agree within 2 % or this much: the wake-ups of
/// both sides, on a shared machine, lie between the two.
const WAKE_UPS_NS: u64 = 2_000_000;

/// The percentiles and the counts agree, and we are never faster than the server.
fn agrees(delay: &str, depth: &str, percentiles: &[&str]) {
    let apart = disagreements(delay, depth, percentiles);
    assert!(apart.is_empty(), "{apart:?}");
}

/// Percentiles that are too far apart.
fn disagreements(delay: &str, depth: &str, percentiles: &[&str]) -> Vec<String> {
    let server = Server::start("target-sink", &["--threads", "1", "--delay", delay]);
    let url = server.url("/");
    let (_, record) = measure(&["load", &url, "-c", "4", "-p", depth, "-d", "4", "--warmup", "0"]);
    let theirs = server.stop();
    let point = &record["points"][0];
    let samples = count(point, "/latency_ns/count");
    assert_eq!(samples, count(&theirs, "/service_ns/count"), "{delay}: one record per request");
    let mut apart = Vec::new();
    for name in percentiles {
        let ours_ns = count(point, &format!("/latency_ns/{name}"));
        let theirs_ns = count(&theirs, &format!("/service_ns/{name}"));
        let apart_ns = ours_ns.abs_diff(theirs_ns);
        let context = format!("{delay} depth {depth} {name}: {ours_ns} ns, served in {theirs_ns}");
        assert!(ours_ns + theirs_ns / 1000 >= theirs_ns, "{context}: faster than the server");
        if apart_ns > WAKE_UPS_NS.max(theirs_ns / 50) {
            apart.push(context);
        }
    }
    apart
}

#[test]
fn percentiles_are_those_of_the_server() {
    let _turn = turn();
    for depth in ["1", "16"] {
        agrees("fixed:20ms", depth, &["p50", "p90"]);
        agrees("exp:20ms", depth, &["p50", "p90"]);
        agrees("bimodal:10ms,100ms@20%", depth, &["p50", "p90"]);
        agrees("stall:500ms/1s", depth, &["p50", "p99", "max"]);
    }
}
