//! A generator that is too busy to read its streams.

use crate::harness::{Server, count, measure, shown, turn};
use serde_json::Value;

/// The events of the first point.
fn events(record: &Value) -> &Value {
    &record["points"][0]["events"]
}

/// Every event that was meant for a subscriber arrived or is missing; returns both counts.
fn conserved(record: &Value) -> (u64, u64) {
    let of = |name: &str| count(&events(record)["delivery"], &format!("/{name}"));
    let (meant, missing) = (of("meant"), of("missing"));
    assert_eq!(meant, of("received") + of("late") + missing, "{}", events(record));
    (meant, missing)
}

#[test]
fn a_generator_without_time_is_not_told_as_a_server_that_drops() {
    let _turn = turn();
    // The server writes as fast as the client reads, and writing costs less than reading.
    let server = Server::start("target-stage", &["--thread-per-connection", "--leave-out", "10"]);
    let url = server.url("");
    let command = ["fanout", &url, "-c", "2", "--streams", "2", "--writers", "0", "-d", "2s"];
    let (code, record) = measure(&[&command[..], &["--cpus", "0", "-t", "1"]].concat());
    let (meant, missing) = conserved(&record);
    assert!(missing.abs_diff(meant / 10) <= 2, "{missing} of {meant}");
    assert_eq!(code, 4, "{}", shown(&record));
    let gates = record["points"][0]["gates"].as_array().unwrap();
    let delivery = gates.iter().find(|gate| gate["id"] == "delivery").unwrap();
    assert_eq!(delivery["ok"], false, "{delivery}");
    assert!(delivery["why"].as_str().unwrap().contains("may be late itself"), "{delivery}");
}
