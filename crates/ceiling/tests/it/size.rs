//! Sizes from stored runs: the text, the errors, and that the measured cost is used.

use crate::harness::{Folder, Server, code_of, run, shown, turn};
use serde_json::Value;
use std::fs;

/// A server that is mostly idle, and fails half of its requests.
const HALF_FAILS: [&str; 6] = ["--threads", "1", "--delay", "fixed:2ms", "--status", "500:50%"];

#[test]
fn what_cannot_be_sized_is_refused_in_one_line() {
    let folder = Folder::new("size-refused");
    let file = folder.file("run.json");
    for (arguments, words) in [
        (vec!["size", "nowhere", "--rate", "1k"], vec!["<RUN>", "nowhere"]),
        (vec!["size", &file], vec!["--rate", "missing", "for example"]),
        (vec!["size", &file, "--rate", "fast"], vec!["--rate", "fast", "for example 20k"]),
        (vec!["size", &file, "--rate", "1k", "--link", "0"], vec!["--link", "for example"]),
        (vec!["size", &file, "--rate", "1k", "--headroom", "70"], vec!["--headroom", "70", "0.7"]),
        (vec!["size", &file, "--rate", "1k", "--client-cpus", "0"], vec!["--client-cpus", "0"]),
    ] {
        let said = run(&arguments);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{arguments:?}: {}", said.stderr);
        assert_eq!(said.stderr.trim_end().lines().count(), 1, "{}", said.stderr);
        for word in words {
            assert!(said.stderr.contains(word), "{arguments:?}: '{word}' in {}", said.stderr);
        }
    }
}

/// Error responses cost CPU time too: the cost is per response, on both sides, and the table says
/// so.
#[test]
fn the_cost_of_a_server_that_responds_with_errors_is_that_of_all_its_responses() {
    let _turn = turn();
    let server = Server::start("target-sink", &HALF_FAILS);
    let (folder, url) = (Folder::new("size-errors"), server.url("/"));
    let file = folder.file("run.json");
    let said = run(&["load", &url, "-c", "8", "-d", "1s", "--warmup", "300ms", "-v", "-o", &file]);
    let record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(said.code, code_of(&record), "{}", shown(&record));
    let point = &record["points"][0];
    let figure = |pointer: &str| point.pointer(pointer).unwrap().as_f64().unwrap();
    let (responses, good) = (figure("/cpu/answers"), figure("/requests/completed"));
    let statuses = point["status"].as_object().unwrap().values().filter_map(Value::as_f64);
    // At each end of the window, each connection can have one request in flight.
    assert!((responses - statuses.sum::<f64>()).abs() <= 8.0, "{point}");
    assert!(responses > 1.8 * good && responses < 2.2 * good, "{responses} responses, {good} good");
    for side in ["client", "server"] {
        let each_us = figure(&format!("/cpu/{side}_us_per_request"));
        let cpus_us = figure(&format!("/cpu/{side}_cpus")) * figure("/load/duration_s") * 1e6;
        assert!((each_us * responses / cpus_us - 1.0).abs() < 1e-6, "{side}: {}", point["cpu"]);
    }
    let shown = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for note in ["CPU time per response, good or not:", "% of the responses were not good"] {
        assert!(shown.contains(note), "{}", said.stdout);
    }
}

/// A run whose rate is not known has no cost per request.
#[test]
fn an_invalid_run_is_refused_and_exits_with_4() {
    let _turn = turn();
    let server = Server::start("target-sink", &HALF_FAILS);
    let folder = Folder::new("size-invalid");
    let (url, file) = (server.url("/"), folder.file("run.json"));
    let load = ["load", &url, "-c", "4", "-n", "2000", "--warmup", "0", "-q", "-o", &file];
    let code = run(&load).code;
    let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(code, code_of(&record), "failures are results: {}", shown(&record));
    let unknown = serde_json::json!({ "rate": { "is": "not-known", "why": "accounts disagree" } });
    record["points"][0]["standing"] = unknown;
    fs::write(&file, record.to_string()).unwrap();
    let said = run(&["size", &file, "--rate", "1M"]);
    assert_eq!((said.code, said.stdout.as_str()), (4, ""), "{}", said.stderr);
    assert!(said.stderr.contains("not a valid measurement"), "{}", said.stderr);
}
