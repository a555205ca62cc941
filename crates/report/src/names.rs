//! The names that a record has as a document.

use crate::fixtures;
use model::json::pretty;
use serde_json::Value;

const HIST: [&str; 12] =
    ["count", "min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max"];

/// Names of the design's section 6, by the object that has them.
const NAMES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "schema",
            "id",
            "version",
            "started_at",
            "command",
            "seed",
            "host",
            "target",
            "points",
            "verdict",
            "expectations",
        ],
    ),
    (
        "/points/0",
        &[
            "load",
            "connections",
            "requests",
            "status",
            "mismatched",
            "errors",
            "rate",
            "offered_rate",
            "bytes",
            "latency_ns",
            "service_ns",
            "send_delay_ns",
            "cpu",
            "series",
            "gates",
            "verdict",
            "attempt",
            "window_ns",
            "in_flight",
            "unmeasured",
            "expectations",
        ],
    ),
    (
        "/points/0/load",
        &["model", "connections", "depth", "rate", "arrivals", "duration_s", "driver", "threads"],
    ),
    ("/points/0/connections", &["asked", "opened", "served", "failed", "reopened", "connect_ns"]),
    ("/points/0/requests", &["planned", "sent", "completed", "failed", "unsent", "unanswered"]),
    ("/points/0/status", &["2xx", "3xx", "4xx", "5xx"]),
    ("/points/0/errors", &["connect", "timeout", "reset", "parse", "tls", "ports", "fds"]),
    ("/points/0/bytes", &["sent", "received"]),
    ("/points/0/latency_ns", &HIST),
    ("/points/0/service_ns", &HIST),
    ("/points/0/connections/connect_ns", &HIST),
    (
        "/points/0/cpu",
        &["client_us_per_request", "client_usr_us_per_request", "server_us_per_request"],
    ),
    ("/points/0/series/0", &["t_s", "completed", "failed", "p50_ns", "p99_ns"]),
    ("/points/0/gates/0", &["id", "ok", "measured", "bound", "why"]),
    (
        "/verdict",
        &[
            "wall",
            "name",
            "side",
            "confidence",
            "also",
            "ceiling",
            "evidence",
            "against",
            "not_tested",
            "next",
        ],
    ),
    ("/verdict/ceiling", &["rate", "kind"]),
    ("/verdict/evidence/0", &["host", "source", "field", "value", "rule"]),
];

#[test]
fn every_name_other_programs_depend_on_is_there() {
    let document: Value = serde_json::from_str(&pretty(&fixtures::ramp_quota().record)).unwrap();
    assert_eq!(document["schema"], "ceiling.run/1");
    for (path, names) in NAMES {
        let object = document.pointer(path).and_then(Value::as_object);
        let object = object.unwrap_or_else(|| panic!("no object at '{path}'"));
        for name in *names {
            assert!(object.contains_key(*name), "'{name}' is missing in '{path}'");
        }
    }
}

#[test]
fn missing_figures_are_null_and_never_zero() {
    let document: Value =
        serde_json::from_str(&pretty(&fixtures::load_unwatched().record)).unwrap();
    for path in ["/points/0/cpu/server_us_per_request", "/points/0/offered_rate"] {
        assert_eq!(document.pointer(path), Some(&Value::Null), "{path}");
    }
}

#[test]
fn a_record_reads_back_the_same() {
    for (name, run) in fixtures::all() {
        let read: model::run::Record = serde_json::from_str(&pretty(&run.record)).unwrap();
        assert_eq!(read, run.record, "{name}");
    }
}

#[test]
fn the_document_is_pinned() {
    let run = fixtures::load_unwatched();
    insta::assert_snapshot!("record", pretty(&run.record));
}
