//! Sizes from valid measurements.

use crate::harness::{Folder, Server, run, turn};
use serde_json::Value;
use std::fs;

/// A server whose delay limits its rate, so that other load on the machine does not matter.
const STEADY: [&str; 4] = ["--threads", "1", "--delay", "fixed:5ms"];

/// Writes a run with four connections to a file; returns the file's name.
fn measured(folder: &Folder, url: &str) -> String {
    let file = folder.file("run.json");
    let load = ["load", url, "-c", "4", "-p", "16", "-d", "1s", "-t", "1", "--cpus", "1", "-q"];
    let said = run(&[&load[..], &["--warmup", "500ms", "-o", &file]].concat());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    file
}

/// The prediction multiplies the client's cost of a request in the run, however disturbed the run
/// was. `make -C bench size` measures how well that predicts two processes.
#[test]
fn the_measured_cost_times_the_rate_is_the_prediction() {
    let _turn = turn();
    let server = Server::start("target-sink", &STEADY);
    let folder = Folder::new("size-cost");
    let file = measured(&folder, &server.url("/"));
    let record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let point = &record["points"][0];
    let figure = |pointer: &str| point.pointer(pointer).unwrap().as_f64().unwrap();
    // CPU time is per response of the window, whenever it was asked for.
    let rate = figure("/cpu/answers") / figure("/load/duration_s");
    let cpus = figure("/cpu/client_cpus");
    let said = run(&["size", &file, "--rate", "1M", "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let predicted = &said.record()["client_cpus"];
    let [value, low, high] = ["value", "low", "high"].map(|name| predicted[name].as_f64().unwrap());
    assert!((value / (cpus / rate * 1e6) - 1.0).abs() < 0.001, "{predicted} of {cpus} at {rate}/s");
    assert!(low <= value && value <= high, "{predicted}");
}

#[test]
fn the_prediction_and_its_arithmetic_are_shown() {
    let _turn = turn();
    let server = Server::start("target-sink", &STEADY);
    let folder = Folder::new("size-text");
    let file = measured(&folder, &server.url("/"));
    let asked = ["size", &file, "--rate", "5M", "--client-cpus", "32", "--link", "25G", "-v"];
    let said = run(&asked);
    assert_eq!(said.code, 0, "{}", said.stderr);
    for words in [
        "of 32 CPUs for 5.00M/s",
        "each 70 % used",
        "client CPUs  ",
        "5.00M/s x",
        "/ (32 CPUs x 0.7) =",
        "/ (25.0Gbit/s x 0.7) =",
        "server CPUs  ",
    ] {
        assert!(said.stdout.contains(words), "'{words}' in {}", said.stdout);
    }
}
