//! Advice from real runs, plans that turn knobs of a namespace, and what is kept of predictions.

use crate::harness::{Folder, Namespace, Said, Server, ceiling, root, run, turn};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn list() -> String {
    root().join("targets/targets.toml").display().to_string()
}

fn must_be_root() {
    let uid = Command::new("id").arg("-u").output().unwrap();
    assert!(uid.stdout.starts_with(b"0\n"), "this test makes a network namespace: run it as root");
}

/// A short run against a server that its delay holds back; gives its directory.
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
fn the_plan_that_is_written_can_be_run_and_keeps_the_load() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--threads", "1", "--delay", "fixed:5ms"]);
    let folder = Folder::new("advise-plan");
    let (file, plan) = (measured(&folder, &server), folder.file("plan.toml"));
    let said = run(&["advise", &file, "--plan", &plan, "--knob", "rps"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let said = run(&["run", &plan, "--targets-file", &list(), "--dry-run"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.stdout.matches("tune    rps").count(), 4, "{}", said.stdout);
    assert_eq!(said.stdout.matches("--connections=4").count(), 8, "{}", said.stdout);
    let order: Vec<_> = said.stdout.lines().filter(|line| line.ends_with(", 1")).collect();
    assert_eq!(order, ["as it is, 1", "rps, 1"]);
    for (knob, words) in [("nothing", "is no knob"), ("T", "is no knob")] {
        let said = run(&["advise", &file, "--plan", &plan, "--knob", knob]);
        assert_eq!((said.code, said.stderr.lines().count()), (2, 1), "{}", said.stderr);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    }
}

#[test]
fn a_run_that_is_no_measurement_gives_no_advice() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--status", "500:50%"]);
    let folder = Folder::new("advise-invalid");
    let said = run(&["advise", &measured(&folder, &server)]);
    assert_eq!((said.code, said.stdout.as_str()), (4, ""), "{}", said.stderr);
    assert!(said.stderr.contains("measure again: ceiling load"), "{}", said.stderr);
}

/// Inside a namespace of its own, with a journal of its own.
fn inside(namespace: &Namespace, folder: &Folder, arguments: &[&str]) -> Said {
    let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    let journal = folder.path.join("journal");
    command.args(arguments).env("CEILING_TUNE_JOURNAL", journal);
    Said::of(command.output().unwrap())
}

fn somaxconn(namespace: &Namespace) -> String {
    let mut command = namespace.command(Path::new("cat"));
    let output = command.arg("/proc/sys/net/core/somaxconn").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

const PLAN: &str = r#"
schema = "ceiling.plan/1"
question = "Does a longer accept queue help whom it does not overflow?"
[server]
target = "sink"
args = ["--threads", "1", "--delay", "fixed:5ms"]
[load]
command = "load"
path = "/simple"
connections = 4
duration = "1s"
warmup = "200ms"
threads = 1
[[cell]]
name = "as it is, 1"
[[cell]]
name = "longer, 1"
tune = { only = ["somaxconn"], values = { somaxconn = 7777 } }
[[cell]]
name = "longer, 2"
tune = { only = ["somaxconn"], values = { somaxconn = 7777 } }
[[cell]]
name = "as it is, 2"
[[prediction]]
knob = "T29"
baseline = "as it is"
change = "longer"
low = -0.5
high = 0.5
why = "0 handshakes refused"
run = "made up"
"#;

#[test]
fn a_plan_turns_a_knob_for_its_cell_and_keeps_what_it_predicted() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("advise"), Folder::new("advise-tuned"));
    let before = somaxconn(&namespace);
    assert_ne!(before, "7777");
    let (plan, runs) = (folder.file("plan.toml"), folder.file("runs"));
    fs::write(&plan, PLAN).unwrap();
    let arguments = ["run", &plan, "--targets-file", &list(), "--runs", &runs, "--json"];
    let refused = inside(&namespace, &folder, &arguments);
    assert_eq!((refused.code, refused.stderr.lines().count()), (2, 1), "{}", refused.stderr);
    assert!(refused.stderr.contains("--allow-tune"), "{}", refused.stderr);
    assert!(!Path::new(&runs).exists(), "nothing was started");

    let said = inside(&namespace, &folder, &[&arguments[..], &["--allow-tune"]].concat());
    let document = said.record();
    assert_eq!(somaxconn(&namespace), before, "it is put back");
    let folder_of = Path::new(&runs).join(document["id"].as_str().unwrap()).join("runs");
    for cell in document["cells"].as_array().unwrap() {
        assert_eq!(cell["fate"]["fate"], "measured", "{cell}");
        let run = folder_of.join(cell["fate"]["run"].as_str().unwrap()).join("run.json");
        let record: Value = serde_json::from_slice(&fs::read(run).unwrap()).unwrap();
        let is_tuned = cell["name"].as_str().unwrap().starts_with("longer");
        let during = &record["host"]["sysctls"]["net.core.somaxconn"];
        assert_eq!(during, if is_tuned { "7777" } else { &before }, "{cell}");
        let fates: Vec<_> =
            cell["tuned"].as_array().unwrap().iter().map(|row| row["fate"].clone()).collect();
        assert_eq!(fates, vec![Value::from("reverted"); usize::from(is_tuned)], "{cell}");
    }
    let kept = &document["predictions"][0];
    assert_eq!((kept["inside"].as_bool(), kept["pairs"].as_u64()), (Some(true), Some(2)), "{kept}");

    let said = run(&["advise", "--calibration", "--runs", &runs]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("1 OF 1 DECIDED PREDICTIONS HELD"), "{}", said.stdout);
    assert!(said.stdout.contains("-50.0 % to +50.0 %"), "{}", said.stdout);
}

/// Somebody else changes the value while the cell is measured: no number, and nothing more is
/// measured on a host that is not as it was.
#[test]
fn a_value_that_somebody_else_changes_voids_its_cell_and_those_after_it() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("drift"), Folder::new("advise-drift"));
    let (plan, runs) = (folder.file("plan.toml"), folder.file("runs"));
    fs::write(&plan, PLAN.replace("duration = \"1s\"", "duration = \"3s\"")).unwrap();
    let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    command.args(["run", &plan, "--targets-file", &list(), "--runs", &runs]);
    command.args(["--json", "-q", "--allow-tune", "--only", "as it is,longer"]);
    command.env("CEILING_TUNE_JOURNAL", folder.path.join("journal"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while somaxconn(&namespace) != "7777" {
        std::thread::yield_now();
    }
    namespace.sysctl("net.core.somaxconn", "8888");
    let said = Said::of(child.wait_with_output().unwrap());
    let document = said.record();
    let fates: Vec<_> = document["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["fate"]["why"].as_str().unwrap_or("").to_string())
        .collect();
    assert!(fates[1].contains("tuning drifted"), "{fates:?}");
    assert!(fates[1].contains("8888"), "{fates:?}");
    assert!(fates[2..].iter().all(|why| why.contains("not as it was before")), "{fates:?}");
    assert_eq!(somaxconn(&namespace), "8888", "what others set is left alone");
    assert_eq!(said.code, 5);
    let kept = Path::new(&runs).join(document["id"].as_str().unwrap()).join("runs");
    let mut records = fs::read_dir(kept).unwrap().map(|run| {
        let text = fs::read(run.unwrap().path().join("run.json")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()
    });
    let tuned =
        |record: &Value| record["host"]["tuned"].as_array().is_some_and(|all| !all.is_empty());
    let record = records.find(tuned).expect("the run of the cell knows what was tuned");
    let gates = record["points"][0]["gates"].as_array().unwrap();
    let gate = gates.iter().find(|gate| gate["id"] == "tuning").expect("something is tuned");
    assert_eq!(gate["ok"], false, "{gate}");
    assert_eq!(record["verdict"]["wall"], "M3", "{}", record["verdict"]);
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
        ("addr = \"127.0.0.1:1\"", "only = [\"somaxconn\"]", "starts afterwards"),
    ] {
        let text = format!("{head}server = {{ {server} }}\ntune = {{ {tune} }}\n");
        fs::write(&plan, text).unwrap();
        let said = run(&["run", &plan, "--targets-file", &list(), "--allow-tune"]);
        assert_eq!((said.code, said.stderr.lines().count()), (2, 1), "{}", said.stderr);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    }
}

#[test]
fn without_a_kept_prediction_the_next_command_is_told() {
    let folder = Folder::new("advise-none");
    let output = ceiling(&["advise", "--calibration", "--runs", &folder.file("runs")]).output();
    let said = Said::of(output.unwrap());
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("ceiling advise RUN --plan FILE"), "{}", said.stdout);
}
