//! The accept queue of Ranch overflows when Ranch takes no more connections.

use crate::harness::{Server, count, measure, measure_wall, shown, turn, wall};

#[test]
fn ranch_that_has_all_the_connections_it_may_have_is_k1() {
    let _turn = turn();
    // Its acceptors sleep until a device leaves: 20 of 150 are accepted, and the queue holds 9.
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
