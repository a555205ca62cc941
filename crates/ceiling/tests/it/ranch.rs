//! The server of the second story, on real Ranch: connections without requests, and the accept
//! queue that overflows when it takes no more of them. nginx beside it, the anchor.

use crate::harness::{Server, count, measure, measure_wall, shown, turn, wall};
use serde_json::Value;

/// Connections that were established in the whole run, and the one that tried whether somebody
/// listens.
fn opened(record: &Value) -> u64 {
    let used = record["target"]["addresses_used"].as_array().unwrap();
    1 + used.iter().map(|address| count(address, "/connections")).sum::<u64>()
}

#[test]
fn every_way_to_take_connections_counts_what_the_devices_opened() {
    let _turn = turn();
    let ways: [(&[&str], u64, u64); 4] = [
        (&["--supervisors", "1"], 10, 1),
        (&[], 10, 10),
        (&["--listeners", "4"], 10, 10),
        // As in the plans: more supervisors than Ranch has acceptors by itself.
        (&["--supervisors", "16"], 16, 16),
    ];
    for (way, acceptors, supervisors) in ways {
        let server = Server::start("target-ranch", way);
        let url = format!("tcp://127.0.0.1:{}", server.port);
        let pid = server.pid.to_string();
        let churn = ["churn", &url, "--devices", "40", "--hold", "200ms±5%", "-d", "1"];
        let (code, record) = measure(&[&churn[..], &["--server-pid", &pid]].concat());
        assert!(matches!(code, 0 | 4), "{way:?}: {}", shown(&record));
        let turnover = &record["points"][0]["turnover"];
        assert!(count(turnover, "/established") > 20, "{way:?}: {turnover}");
        assert_eq!(count(turnover, "/failed"), 0, "{way:?}: {turnover}");
        assert_eq!(count(turnover, "/closed_by_peer"), 0, "{way:?}: {turnover}");
        let end = server.stop();
        assert_eq!(count(&end, "/connections_accepted"), opened(&record), "{way:?}");
        assert_eq!(count(&end, "/requests_served"), 0, "{way:?}");
        assert_eq!(count(&end, "/parts/ranch/acceptors"), acceptors, "{way:?}: {end}");
        assert_eq!(count(&end, "/parts/ranch/supervisors"), supervisors, "{way:?}: {end}");
    }
}

#[test]
fn ranch_that_has_all_the_connections_it_may_have_is_k1() {
    let _turn = turn();
    // Its acceptors sleep until a device leaves: 20 of 150 are in, and the queue holds 9.
    let few = ["--supervisors", "1", "--max-connections", "20", "--backlog", "8"];
    let server = Server::start("target-ranch", &few);
    let url = format!("tcp://127.0.0.1:{}", server.port);
    let pid = server.pid.to_string();
    let churn = ["churn", &url, "--devices", "150", "--hold", "200ms±5%", "-d", "3"];
    let (_, record) = measure_wall(&["K1"], &[&churn[..], &["--server-pid", &pid]].concat());
    assert_eq!(record["verdict"]["side"], "server", "{}", shown(&record));
    let evidence = record["verdict"]["evidence"].to_string();
    assert!(evidence.contains("ListenOverflows"), "{evidence}");
    assert!(evidence.contains("of 8"), "the queue is full: {evidence}");
    let retries = record["points"][0]["turnover"]["syn_retries"].as_object().unwrap();
    assert!(retries.contains_key("1s"), "{retries:?}");
}

#[test]
fn ranch_without_that_limit_takes_the_same_devices() {
    let _turn = turn();
    let server = Server::start("target-ranch", &["--supervisors", "1"]);
    let url = format!("tcp://127.0.0.1:{}", server.port);
    let churn = ["churn", &url, "--devices", "150", "--hold", "200ms±5%", "-d", "3"];
    let (_, record) = measure(&churn);
    assert_ne!(wall(&record), "K1", "{}", shown(&record));
    assert_eq!(count(&record["points"][0]["turnover"], "/failed"), 0);
}

#[test]
fn ranch_and_nginx_answer_what_was_asked() {
    let _turn = turn();
    for (target, more) in [
        ("target-ranch", &[][..]),
        ("target-nginx", &["--workers", "2"]),
        ("target-nginx", &["--workers", "2", "--reuseport"]),
    ] {
        let server = Server::start(target, more);
        let url = server.url("/simple");
        let load = ["load", &url, "-c", "8", "-p", "4", "-n", "5000", "--warmup", "0"];
        let (code, record) = measure(&[&load[..], &["--check-length", "16"]].concat());
        assert!(matches!(code, 0 | 4), "{target}: {}", shown(&record));
        let requests = &record["points"][0]["requests"];
        assert_eq!(count(requests, "/completed"), 5000, "{target}: {requests}");
        let end = server.stop();
        assert_eq!(count(&end, "/requests_served"), 5000, "{target}");
    }
}
