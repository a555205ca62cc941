//! Sizes from stored runs: what is said, what is refused, and whether the prediction holds.

use crate::harness::{Folder, Server, ceiling, run, turn};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// A server whose rate its delay decides, not what else runs on the machine.
const STEADY: [&str; 4] = ["--threads", "1", "--delay", "fixed:5ms"];

/// Connections that keep one generator full on the CPU that all share, and half as many.
const FULL: &str = "64";
const HALF: &str = "32";
/// How often one generator and two take turns.
const ROUNDS: usize = 7;

/// One pipelined run of so many connections, written to a file; gives its name.
fn measured(folder: &Folder, name: &str, url: &str, connections: &str) -> String {
    let file = folder.file(name);
    let said = run(&arguments(url, connections, &file));
    assert!(said.code == 0 || said.code == 4, "{}", said.stderr);
    file
}

fn arguments<'a>(url: &'a str, connections: &'a str, file: &'a str) -> Vec<&'a str> {
    let load = ["load", url, "-c", connections, "-p", "16", "-d", "2s", "-t", "1"];
    [&load[..], &["--cpus", "1", "--warmup", "500ms", "-q", "-o", file]].concat()
}

fn point(file: &str) -> Value {
    let record: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    record["points"][0].clone()
}

/// One process is measured; its cost predicts the CPU time of two that share the load. All are
/// full: `size` is about machines that are, and one with room has smaller batches and a higher
/// cost. What else runs on this machine moves the cost of a request as well, so the runs take turns
/// and the median counts.
#[test]
fn two_processes_with_half_the_load_each_reach_the_predicted_cost() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--cpus", "0"]);
    let (folder, url) = (Folder::new("size"), server.url("/"));
    let mut ratios: Vec<f64> = Vec::new();
    for attempt in 0..ROUNDS {
        let whole = measured(&folder, &format!("whole-{attempt}.json"), &url, FULL);
        let halves = ["left", "right"].map(|name| {
            let file = folder.file(&format!("{name}-{attempt}.json"));
            let words = arguments(&url, HALF, &file);
            (ceiling(&words).stdout(Stdio::null()).spawn().unwrap(), file)
        });
        let halves = halves.map(|(mut child, file)| {
            child.wait().unwrap();
            point(&file)
        });
        let sum = |figure: &dyn Fn(&Value) -> f64| halves.iter().map(figure).sum::<f64>();
        let rate = sum(&|point| point["rate"].as_f64().unwrap());
        let used = sum(&|point| point["cpu"]["client_cpus"].as_f64().unwrap());
        let said = run(&["size", &whole, "--rate", &format!("{rate:.0}"), "--json"]);
        if said.code != 0 {
            // Only a run that others disturbed may be refused.
            assert_eq!(said.code, 4, "{}", said.stderr);
            assert!(said.stderr.contains("valid measurement"), "{}", said.stderr);
            println!("round {attempt}: {}", said.stderr.trim());
            continue;
        }
        let predicted = said.record()["client_cpus"]["value"].as_f64().unwrap();
        ratios.push(used / predicted);
        println!(
            "one process predicts {predicted:.3} CPUs at {rate:.0}/s, two used {used:.3}: {:+.1} %",
            (used / predicted - 1.0) * 100.0
        );
    }
    assert!(ratios.len() >= 3, "this machine gave {} steady runs of {ROUNDS}", ratios.len());
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    println!("median {:+.1} %", (median - 1.0) * 100.0);
    assert!((0.75..=1.25).contains(&median), "two processes used {median:.2} times as much");
}

#[test]
fn the_answer_and_its_arithmetic_are_shown() {
    let _turn = turn();
    let server = Server::start("target-sink", &STEADY);
    let folder = Folder::new("size-text");
    let file = measured(&folder, "run.json", &server.url("/"), "4");
    let asked = ["size", &file, "--rate", "5M", "--client-cpus", "32", "--link", "25G"];
    let said = run(&asked);
    assert_eq!(said.code, 0, "{}", said.stderr);
    for words in [
        "of 32 CPUs for 5.00M/s",
        "used to 70 % at most",
        "client CPU per request",
        "5.00M/s x",
        "/ (32 CPUs x 0.7) =",
        "/ (25.0Gbit/s x 0.7) =",
        "server CPUs",
    ] {
        assert!(said.stdout.contains(words), "'{words}' in {}", said.stdout);
    }
}

#[test]
fn what_cannot_be_sized_is_refused_in_one_line() {
    let folder = Folder::new("size-refused");
    let file = folder.file("run.json");
    for (arguments, words) in [
        (vec!["size", "nowhere", "--rate", "1k"], vec!["<RUN>", "nowhere"]),
        (vec!["size", &file], vec!["--rate", "missing", "for example"]),
        (vec!["size", &file, "--rate", "fast"], vec!["--rate", "fast", "for example --rate 5M"]),
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

/// A run against a server that answers with errors is no measurement.
#[test]
fn an_invalid_run_is_refused_and_exits_with_4() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--status", "500:50%"]);
    let folder = Folder::new("size-invalid");
    let file = measured(&folder, "run.json", &server.url("/"), "4");
    let said = run(&["size", &file, "--rate", "1M"]);
    assert_eq!((said.code, said.stdout.as_str()), (4, ""), "{}", said.stderr);
    assert!(said.stderr.contains("not a valid measurement"), "{}", said.stderr);
}
