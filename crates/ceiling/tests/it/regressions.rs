//! `ceiling compare` of two experiments, as a script in continuous integration calls it.

use crate::harness::{Server, alone, ceiling, run, targets_file, turn};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("ceiling-compare-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// An experiment whose cell `read` had these rates, one in each block.
    fn experiment(&self, name: &str, rates: &[f64]) -> String {
        let visits: Vec<Value> = (1..)
            .zip(rates)
            .map(|(block, rate)| {
                json!({
                    "cell": "read", "block": block, "figures": {"rate": rate},
                    "conditions": {
                        "steal": null, "neighbours": null, "stall_ns": null, "gates": [],
                    },
                })
            })
            .collect();
        let cells: Vec<Value> = (1..=rates.len())
            .map(|block| {
                json!({
                    "name": "read", "block": block, "server": ["server"], "command": ["ceiling"],
                    "expected": [], "fate": {"fate": "measured", "run": "id"},
                    "tuned": [], "stopped": null,
                })
            })
            .collect();
        let document = json!({
            "schema": "ceiling.experiment/1", "id": name, "version": "0", "started_at": "",
            "plan": "plan.toml", "question": "?", "cells": cells, "predictions": [],
            "analysis": {
                "hosts": [], "visits": visits,
                "course": {"trend": null, "serial": [], "tested": 0},
            },
        });
        let path = self.0.join(format!("{name}.json"));
        fs::write(&path, document.to_string()).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const BASE: [f64; 6] = [1000.0, 1004.0, 997.0, 1002.0, 999.0, 1001.0];

fn times(factor: f64) -> Vec<f64> {
    BASE.iter().rev().map(|rate| rate * factor).collect()
}

#[test]
fn a_script_stops_at_a_regression_and_passes_what_is_alike() {
    let folder = Folder::new("script");
    folder.experiment("base", &BASE);
    folder.experiment("new", &times(1.002));
    folder.experiment("slow", &times(0.9));
    let script = "set -eu\n\
        bounds=\"--fail-if rate<-3%,rate>50% --fail-if rate>60%\"\n\
        \"$CEILING\" compare base.json new.json $bounds > new.txt\n\
        echo passed\n\
        \"$CEILING\" compare base.json slow.json --fail-if 'rate<-3%' -o slow.html > slow.txt\n\
        echo never\n";
    let output = alone(Command::new("sh"))
        .args(["-c", script])
        .current_dir(&folder.0)
        .env("CEILING", env!("CARGO_BIN_EXE_ceiling"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "passed\n");
    let slow = fs::read_to_string(folder.path("slow.txt")).unwrap();
    assert!(slow.contains("FAILED: 1 bound of a change"), "{slow}");
    assert!(fs::read_to_string(folder.path("slow.html")).unwrap().contains("rate&lt;-3%"));
    let new = fs::read_to_string(folder.path("new.txt")).unwrap();
    assert!(new.contains("Every bound of a change holds."), "{new}");
}

#[test]
fn what_is_undecided_is_said_and_fails_where_that_is_asked_for() {
    let folder = Folder::new("undecided");
    let base = folder.experiment("base", &[1000.0, 1100.0, 900.0, 1050.0]);
    let new = folder.experiment("new", &[990.0, 1090.0, 900.0, 1040.0]);
    let asked = ["compare", &base, &new, "--fail-if", "rate<-3%"];
    let said = run(&asked);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("undecided"), "{}", said.stderr);
    assert!(said.stdout.contains("more visits of each"), "{}", said.stdout);
    assert_eq!(run(&[&asked[..], &["--strict"]].concat()).code, 3);
    let said = run(&[&asked[..], &["--json"]].concat());
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["schema"], "ceiling.compare-experiments/1");
    assert_eq!(document["bounds"][0]["outcome"], "undecided");
}

/// A run of one visit with this rate of good responses, over ten even tenths of a second.
fn run_with(folder: &Folder, name: &str, rate: f64) -> String {
    let mut record = measured(folder);
    let point = &mut record["points"][0];
    let each = (rate / 10.0).round() as u64;
    point["rate"] = json!(rate);
    point["per_100ms"] = json!(vec![each; 11]);
    point["standing"] = json!({});
    record["verdict"]["side"] = json!("server");
    record["verdict"]["ceiling"] = Value::Null;
    let path = folder.path(&format!("{name}.json"));
    fs::write(&path, record.to_string()).unwrap();
    path
}

/// The record of a real run, with any figures.
fn measured(folder: &Folder) -> Value {
    let path = folder.path("real.json");
    if !fs::exists(&path).unwrap() {
        let load = ["load", "http://null/", "--driver", "null", "-d", "200ms", "-t", "1", "-q"];
        run(&[&load[..], &["--warmup", "0", "-o", &path]].concat());
    }
    serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()
}

#[test]
fn two_single_runs_decide_what_is_far_apart_and_nothing_else() {
    let _turn = turn();
    let folder = Folder::new("single");
    let base = run_with(&folder, "base", 1000.0);
    let against = |rate: f64, bounds: &str| {
        let new = run_with(&folder, "new", rate);
        run(&["compare", &base, &new, "--fail-if", bounds])
    };
    for (rate, bounds, code, words) in [
        (400.0, "rate<-3%", 3, "rate<-3% failed"),
        (1000.0, "rate<-3%", 3, "rate<-3% is undecided"),
        (900.0, "rate<-3%", 3, "rate<-3% is undecided"),
        (2000.0, "rate<-3%", 0, ""),
        (1000.0, "rate<-60%", 0, ""),
        (2500.0, "rate>3%", 3, "rate>+3% failed"),
        (400.0, "rate<-3%,rate>400%", 3, "rate<-3% failed"),
        (0.0, "rate<-3%", 3, "rate<-3% failed"),
    ] {
        let said = against(rate, bounds);
        assert_eq!(said.code, code, "{rate} {bounds}: {}{}", said.stdout, said.stderr);
        let shown = format!("{rate} {bounds}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{shown}");
        assert_eq!(said.stderr.contains("blocks = 6"), words.contains("undecided"), "{shown}");
        assert_eq!(said.stderr.is_empty(), code == 0, "{shown}");
        assert!(said.stdout.contains("Bounds of a change"), "{}", said.stdout);
    }
    let slower = against(400.0, "rate<-3%").stdout;
    assert!(slower.contains("B is 60.0 % slower than A at"), "{slower}");
}

#[test]
fn a_load_is_compared_with_a_stored_run() {
    let _turn = turn();
    let folder = Folder::new("baseline");
    let runs = folder.path("runs");
    let load = ["load", "http://null/", "--driver", "null", "-d", "200ms", "-t", "1"];
    let load = [&load[..], &["--warmup", "0", "--runs", &runs]].concat();
    let none = run(&[&load[..], &["--baseline", "last"]].concat());
    assert_eq!((none.code, none.stdout.as_str()), (2, ""), "{}", none.stderr);
    let alone = run(&[&load[..], &["--fail-if", "rate<-3%"]].concat());
    assert!(alone.code == 2 && alone.stderr.contains("--baseline"), "{}", alone.stderr);
    run(&[&load[..], &["-q"]].concat());
    let first = run(&["show", "last", "--json", "--runs", &runs]).record();
    let junit = folder.path("junit.xml");
    let bound = ["--baseline", "last", "--fail-if", "rate>-99.9%", "--junit", &junit];
    let said = run(&[&load[..], &bound].concat());
    // The generator is the wall of a load without a server, which may leave it undecided.
    assert!([3, 4].contains(&said.code), "{}", said.stderr);
    assert!(said.stderr.contains("rate>-99.9% "), "{}", said.stderr);
    let title = format!("ceiling compare {} ", first["id"].as_str().unwrap());
    assert!(said.stdout.contains(&title), "{title} in {}", said.stdout);
    let cases = fs::read_to_string(junit).unwrap();
    assert!(cases.contains("-99.9% "), "{cases}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = Folder::new("refused");
    let base = folder.experiment("base", &BASE);
    for bound in ["rate<3", "speed<-3%", "rate"] {
        let said = run(&["compare", &base, &base, "--fail-if", bound]);
        assert_eq!(said.code, 2);
        assert!(said.stderr.contains("'rate<-3%'"), "{bound}: {}", said.stderr);
    }
    let strict = run(&["compare", &base, &base, "--strict"]);
    assert!(strict.code == 2 && strict.stderr.contains("--fail-if"), "{}", strict.stderr);
    let text = fs::read_to_string(&base).unwrap();
    let mut older: Value = serde_json::from_str(&text).unwrap();
    older.as_object_mut().unwrap().remove("analysis");
    let path = folder.path("older.json");
    fs::write(&path, older.to_string()).unwrap();
    let said = run(&["compare", &base, &path]);
    assert!(said.code == 2 && said.stderr.contains("give the folder"), "{}", said.stderr);
    for cell in older["cells"].as_array_mut().unwrap() {
        cell["fate"] = json!({"fate": "failed", "why": "it did not start"});
    }
    fs::write(&path, older.to_string()).unwrap();
    let said = run(&["compare", &base, &path]);
    assert!(said.code == 2 && said.stderr.contains("no visit of it was"), "{}", said.stderr);
}

#[test]
fn an_experiment_in_blocks_is_compared_with_itself() {
    let _turn = turn();
    let folder = Folder::new("itself");
    let plan = folder.path("plan.toml");
    let text = "schema = \"ceiling.plan/1\"\nquestion = \"?\"\n\
                server = { target = \"sink\" }\n\
                load = { command = \"load\", path = \"/simple\", requests = 500 }\n\
                cell = [{ name = \"one\" }, { name = \"two\" }]\n\
                [design]\nblocks = 3\nfloor = true\nwarmup_visits = 1\nrestart = \"block\"\n";
    fs::write(&plan, text).unwrap();
    let runs = folder.path("runs");
    let document = folder.path("whole.json");
    let list = targets_file();
    let arguments = ["run", &plan, "--servers", &list, "--runs", &runs, "-o", &document];
    let output = ceiling(&arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("1/10 ") && told.contains("warm-up"), "{told}");
    assert!(told.contains(" left"), "{told}");
    let whole: Value = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
    let visits = whole["analysis"]["visits"].as_array().unwrap();
    assert_eq!((visits.len(), &visits[0]["block"]), (10, &json!(0)));
    assert_eq!(whole["design"]["floor"], "one, again");
    assert_eq!(whole["analysis"]["hosts"].as_array().unwrap().len(), 2, "client and server");
    // A run with one visit on each side does not show how much visits vary.
    let run_of = |at: usize| {
        let id = whole["cells"][at]["fate"]["run"].as_str().unwrap();
        format!("{runs}/{}/runs/{id}", whole["id"].as_str().unwrap())
    };
    let (one, two) = (run_of(1), run_of(2));
    let said = run(&["compare", &one, &two, "--fail-if", "rate<-99%"]);
    assert!([0, 3].contains(&said.code), "{}", said.stderr);
    let said = run(&["compare", &one, &document]);
    assert!(said.code == 2 && said.stderr.contains("two experiments"), "{}", said.stderr);
    let same = run(&["compare", &document, &format!("{runs}/{}", whole["id"].as_str().unwrap())]);
    assert_eq!(same.code, 0, "{}", same.stderr);
    assert!(!same.stdout.contains("What differs"), "{}", same.stdout);
    let bounded = run(&["compare", &document, &document, "--fail-if", "rate<-3%"]);
    assert_eq!(bounded.code, 0, "{}", bounded.stderr);
}

#[test]
fn a_dry_run_says_how_long_it_takes() {
    let server = Server::start("target-sink", &["--threads", "1"]);
    let folder = Folder::new("dry");
    let plan = folder.path("plan.toml");
    let text = format!(
        "schema = \"ceiling.plan/1\"\nquestion = \"?\"\nserver = {{ addr = \"127.0.0.1:{}\" }}\n\
         load = {{ command = \"load\", duration = \"58s\", warmup = \"0\" }}\n\
         [design]\nblocks = 10\n",
        server.port
    );
    fs::write(&plan, text).unwrap();
    let said = run(&["run", &plan, "--dry-run"]);
    assert!(said.stdout.contains("about 10 min"), "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("58 s window"), "{}", said.stdout);
}
