//! Advice from real runs, and plans that are refused before anything is changed.

use crate::harness::{Finished, Folder, Server, ceiling, run, targets_file, turn};
use serde_json::Value;
use std::fs;

/// A short run against a server that its delay limits; returns its directory.
fn measured(folder: &Folder, server: &Server) -> String {
    let (url, runs) = (server.url("/simple"), folder.file("kept"));
    let load = ["load", &url, "-c", "4", "-d", "2s", "-t", "1", "-q", "--json", "--runs", &runs];
    let said = run(&load);
    assert!(said.code == 0 || said.code == 4, "{}", said.stderr);
    format!("{runs}/{}", said.record()["id"].as_str().unwrap())
}

#[test]
fn a_knob_whose_counter_is_zero_is_not_worth_trying_and_says_what_would_change_that() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:5ms"]);
    let folder = Folder::new("advise");
    let file = measured(&folder, &server);
    let said = run(&["advise", &file]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    assert!(said.stdout.contains("Not worth trying now"), "{}", said.stdout);
    let said = run(&["advise", &file, "--json"]);
    let advice = said.record();
    assert_eq!(advice["schema"], "ceiling.advice/1");
    let not_now = advice["not_now"].as_array().unwrap();
    let somaxconn = not_now.iter().find(|one| one["knob"] == "T29").expect("it did not overflow");
    assert_eq!(advice["signals"]["server"]["accept_overflows"], 0);
    let when = somaxconn["prediction"]["reconsider"].as_str().unwrap();
    assert!(when.contains("ListenOverflows"), "{when}");
}

#[test]
fn a_run_that_is_no_measurement_gives_no_advice() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:5ms"]);
    let folder = Folder::new("advise-invalid");
    let said = run(&["advise", &struck(&measured(&folder, &server))]);
    assert_eq!((said.code, said.stdout.as_str()), (4, ""), "{}", said.stderr);
    assert!(said.stderr.contains("measure again: ceiling load"), "{}", said.stderr);
}

/// Removes the rate from a stored run; returns its directory.
fn struck(run: &str) -> String {
    let path = format!("{run}/run.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let unknown = serde_json::json!({ "rate": { "is": "not-known", "why": "accounts disagree" } });
    record["points"][0]["standing"] = unknown;
    fs::write(&path, record.to_string()).unwrap();
    run.to_string()
}

/// The gate of the only point of a run.
fn gate(record: &Value) -> Option<&Value> {
    record["points"][0]["gates"].as_array().unwrap().iter().find(|gate| gate["id"] == "tuning")
}

/// If the journal cannot be read, it is not known whether anything is changed: the gate says so.
#[test]
fn a_journal_that_cannot_be_read_leaves_its_gate_unchecked() {
    let _turn = turn();
    let folder = Folder::new("advise-damaged");
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:5ms"]);
    let url = server.url("/simple");
    let load = ["load", &url, "-c", "4", "-d", "1s", "-t", "1", "-q", "--json", "--runs", "none"];
    let gate_of = |journal: &str| {
        let said = ceiling(&load).env("CEILING_TUNE_JOURNAL", journal).output();
        let record = Finished::of(said.unwrap()).record();
        assert_eq!(record["host"]["tuned"], Value::Null);
        gate(&record).cloned()
    };
    assert_eq!(gate_of(&folder.file("none")), None, "there is no journal");
    let journal = folder.file("journal");
    fs::create_dir(&journal).unwrap();
    fs::write(format!("{journal}/3.jsonl"), "{}\n").unwrap();
    let gate = gate_of(&journal).expect("it is asked");
    assert_eq!(gate["ok"], Value::Null, "{gate}");
    assert!(gate["why"].as_str().unwrap().contains("3.jsonl"), "{gate}");
}

/// Without `--run`, the newest valid run predicts.
#[test]
fn a_plan_of_knobs_reads_the_newest_valid_run() {
    let _turn = turn();
    let folder = Folder::new("advise-newest");
    let steady = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:5ms"]);
    let runs = folder.file("kept");
    let newest = || {
        let said = run(&["tune", "plan", "--json", "--only", "somaxconn", "--runs", &runs]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        said.record()["run"].clone()
    };
    assert_eq!(newest(), Value::Null, "no run yet");
    let id = |path: String| Value::from(path.rsplit('/').next().unwrap());
    let mut valid = Value::Null;
    for _ in 0..2 {
        let path = measured(&folder, &steady);
        valid = id(path);
        assert_eq!(newest(), valid);
    }
    struck(&measured(&folder, &steady));
    assert_eq!(newest(), valid, "a run whose rate is not known predicts nothing");
}

#[test]
fn a_knob_that_a_plan_must_not_turn_is_refused_before_anything_starts() {
    let folder = Folder::new("advise-refused");
    let plan = folder.file("plan.toml");
    let head = "schema = \"ceiling.plan/1\"\nquestion = \"?\"\n";
    for (server, tune, words) in [
        ("target = \"sink\"", "only = [\"nothing\"]", "no knob 'nothing'"),
        ("target = \"sink\"", "only = [\"rps\"], profile = \"fast\"", "there are seeds"),
        ("target = \"sink\"", "only = [\"rps\"], cpus = \"0\"", "for example 0-3/4-7"),
        ("addr = \"127.0.0.1:1\"", "only = [\"somaxconn\"]", "started afterwards"),
    ] {
        let text = format!("{head}server = {{ {server} }}\ntune = {{ {tune} }}\n");
        fs::write(&plan, text).unwrap();
        let said = run(&["run", &plan, "--servers", &targets_file(), "--allow-tune"]);
        assert_eq!((said.code, said.stderr.lines().count()), (2, 1), "{}", said.stderr);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    }
}

#[test]
fn without_a_kept_prediction_the_next_command_is_told() {
    let folder = Folder::new("advise-none");
    let output = ceiling(&["advise", "--calibration", "--runs", &folder.file("runs")]).output();
    let said = Finished::of(output.unwrap());
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("ceiling advise RUN --plan FILE"), "{}", said.stdout);
}
