//! Experiments that confirm a verdict, and put back what they change at a server.

use crate::harness::limited::Limited;
use crate::harness::{Server, measure, must_be_root, shown, turn, wall};
use serde_json::Value;

/// The experiment on a resource; null if it was not made because the run was not a valid
/// measurement.
fn experiment<'a>(record: &'a Value, resource: &str) -> &'a Value {
    let made = record["perturbations"].as_array().unwrap();
    made.iter().find(|one| one["resource"] == resource).unwrap_or(&Value::Null)
}

/// Measures once; `is_right` must hold, and the experiment on this resource must not say that.
fn confirm(
    arguments: &[&str],
    never: (&str, &str),
    is_right: impl Fn(&Value) -> bool,
) -> (i32, Value) {
    let (code, record) = measure(arguments);
    let (resource, says) = never;
    assert_ne!(experiment(&record, resource)["says"], says, "{:#}", record["perturbations"]);
    assert!(is_right(&record), "{:#} {}", record["perturbations"], shown(&record));
    (code, record)
}

#[test]
fn a_pool_that_is_full_does_not_follow_the_load() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--delay", "fixed:20ms", "--serve-at-once", "4"]);
    let load = ["load", &server.url("/"), "-c", "24", "-t", "1", "-d", "1", "--confirm"];
    let says = |record: &Value| experiment(record, "in_flight")["says"] == "does_not_limit";
    let (_, record) = confirm(&load, ("in_flight", "limits"), says);
    let made = experiment(&record, "in_flight");
    assert_eq!(made["what"], "30 instead of 24 requests in flight");
    assert_eq!(made["base"].as_array().unwrap().len() % 4, 0);
    assert_ne!(wall(&record), "none", "{}", shown(&record));
    assert_eq!(record["points"].as_array().unwrap().len(), 1, "blocks are not points");
    let evidence = record["verdict"]["evidence"].to_string();
    assert!(evidence.contains("elasticity of the rate in requests in flight"), "{evidence}");
}

#[test]
fn an_idle_server_follows_the_load() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--delay", "fixed:20ms"]);
    let load = ["load", &server.url("/"), "-c", "8", "-t", "1", "-d", "1", "--confirm"];
    let never = ("in_flight", "does_not_limit");
    let (code, record) = confirm(&load, never, |record| {
        experiment(record, "in_flight")["says"] == "limits" && wall(record) == "none"
    });
    assert_eq!(code, 0, "{}", shown(&record));
    let what = experiment(&record, "in_flight")["what"].as_str().unwrap();
    assert!(what.contains("10 instead of 8"), "{what}");
}

#[test]
fn a_quota_is_confirmed_by_a_lower_one_and_is_as_before_afterwards() {
    let _turn = turn();
    must_be_root();
    let limited = Limited::new("confirmed", 0.2);
    let before = limited.state();
    let url = limited.server.url("/");
    let load = ["load", &url, "-c", "8", "-t", "1", "-d", "2", "--confirm", "--may-touch-server"];
    let (code, record) = confirm(&load, ("server_cpu", "does_not_limit"), |record| {
        wall(record) == "S3"
            && record["verdict"]["confidence"] == "confirmed"
            && experiment(record, "in_flight")["says"] == "does_not_limit"
    });
    assert_eq!(code, 0, "{}", shown(&record));
    assert_eq!(experiment(&record, "server_cpu")["factor"], 0.8);
    assert_eq!(limited.state(), before);
}
