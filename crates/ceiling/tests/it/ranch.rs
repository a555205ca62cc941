//! The server of the second story, on real Ranch: connections without requests, and the accept
//! queue, which overflows when Ranch takes no more connections. nginx is the reference.

use crate::harness::{Server, code_of, count, measure, shown, turn};
use serde_json::Value;

/// Connections that were established in the whole run, including the one of the preflight.
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
        // As in the plans: more supervisors than Ranch's default number of acceptors.
        (&["--supervisors", "16"], 16, 16),
    ];
    for (way, acceptors, supervisors) in ways {
        let server = Server::start("target-ranch", way);
        let url = format!("tcp://127.0.0.1:{}", server.port);
        let pid = server.pid.to_string();
        let churn = ["churn", &url, "--devices", "40", "--hold", "200ms±5%", "-d", "3"];
        let (code, record) = measure(&[&churn[..], &["--server-pid", &pid]].concat());
        assert_eq!(code, code_of(&record), "{way:?}: {}", shown(&record));
        let turnover = &record["points"][0]["turnover"];
        assert!(count(turnover, "/established") > 60, "{way:?}: {turnover}");
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
fn ranch_and_nginx_respond_with_what_was_asked() {
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
        assert_eq!(code, code_of(&record), "{target}: {}", shown(&record));
        let requests = &record["points"][0]["requests"];
        assert_eq!(count(requests, "/completed"), 5000, "{target}: {requests}");
        let end = server.stop();
        assert_eq!(count(&end, "/requests_served"), 5000, "{target}");
    }
}
