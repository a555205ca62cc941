//! Plans that turn knobs of a namespace, and the predictions that are kept.

use crate::harness::loading::{Loading, measures, segments};
use crate::harness::{
    Finished, Folder, Namespace, Server, must_be_root, program, run, signal, targets_file, turn,
    wait_until,
};
use crate::tune::{LATE, watchdogs};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

/// A server in a namespace with a device, and the directory of a short run against it.
fn measured_inside(namespace: &Namespace, folder: &Folder) -> (Server, String) {
    let device = ["link", "add", "line0", "type", "veth", "peer", "name", "line1"];
    namespace.ip(&device);
    let sink = namespace.command(&program("target-sink"));
    let server = Server::start_as(sink, &["--threads", "1", "--delay", "fixed:5ms"]);
    let (url, runs) = (server.url("/simple"), folder.file("kept"));
    let load = ["load", &url, "-c", "4", "-d", "1s", "-t", "1", "-q", "--json", "--runs", &runs];
    let said = inside(namespace, folder, &load);
    let directory = format!("{runs}/{}", said.record()["id"].as_str().unwrap());
    (server, directory)
}

#[test]
fn the_plan_that_is_written_can_be_run_and_keeps_the_load() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("advise-p"), Folder::new("advise-plan"));
    let (_server, run) = measured_inside(&namespace, &folder);
    let plan = folder.file("plan.toml");
    let advise = |knob: &str| {
        inside(&namespace, &folder, &["advise", &run, "--plan", &plan, "--knob", knob])
    };
    let said = advise("rps");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let rehearse = ["run", &plan, "--servers", &targets_file(), "--dry-run"];
    let said = inside(&namespace, &folder, &rehearse);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.stdout.matches("tune    rps").count(), 4, "{}", said.stdout);
    assert_eq!(said.stdout.matches("--connections=4").count(), 8, "{}", said.stdout);
    let order: Vec<_> = said.stdout.lines().filter(|line| line.ends_with(", 1")).collect();
    assert_eq!(order, ["as it is, 1", "rps, 1"]);
    fs::remove_file(&plan).unwrap();
    for (knob, words) in [
        ("nothing", "no such knob"),
        ("T", "no such knob"),
        ("queues", "can cut connections"),
        ("tcp-abort-on-overflow", "nothing would change"),
        ("busy-poll", "no plan can test it on this host"),
        ("somaxconn", "started afterwards"),
        ("server-cpus", "nothing would change"),
    ] {
        let said = advise(knob);
        assert_eq!((said.code, said.stderr.lines().count()), (2, 1), "{knob}: {}", said.stderr);
        assert!(said.stderr.contains(words), "{knob}: {}", said.stderr);
        assert!(!Path::new(&plan).exists(), "{knob}: no plan is written");
    }
}

/// A knob that is offered as testable is really turned; one of them needs a profile that is not the
/// default.
#[test]
fn the_changed_cell_of_a_written_plan_changes_something() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("advise-w"), Folder::new("advise-ways"));
    let (_server, run) = measured_inside(&namespace, &folder);
    for knob in ["rps", "tcp-slow-start-after-idle", "tcp-max-syn-backlog"] {
        let (plan, runs) = (folder.file("plan.toml"), folder.file("runs"));
        let said = inside(&namespace, &folder, &["advise", &run, "--plan", &plan, "--knob", knob]);
        assert_eq!(said.code, 0, "{knob}: {}", said.stderr);
        let text = fs::read_to_string(&plan).unwrap();
        // The other cells are the same.
        let second = text.match_indices("[[cell]]").nth(2).unwrap().0;
        let rest = text.find("[[prediction]]").unwrap();
        fs::write(&plan, format!("{}{}", &text[..second], &text[rest..])).unwrap();
        let arguments = [
            "run",
            &plan,
            "--servers",
            &targets_file(),
            "--runs",
            &runs,
            "--trust",
            "--json",
            "-q",
        ];
        let said = inside(&namespace, &folder, &[&arguments[..], &["--allow-tune"]].concat());
        let changed = &said.record()["cells"][1];
        assert_eq!(changed["fate"]["fate"], "measured", "{knob}: {changed:#}");
        let tuned = changed["tuned"].as_array().unwrap();
        assert!(!tuned.is_empty(), "{knob}: {changed:#}");
        assert!(tuned.iter().all(|row| row["fate"] == "reverted"), "{knob}: {changed:#}");
    }
}

/// Runs the command inside the namespace, with its own journal.
fn inside(namespace: &Namespace, folder: &Folder, arguments: &[&str]) -> Finished {
    let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    let journal = folder.path.join("journal");
    command.args(arguments).env("CEILING_TUNE_JOURNAL", journal);
    Finished::of(command.output().unwrap())
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
low = -0.99
high = 99.0
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
    let arguments =
        ["run", &plan, "--servers", &targets_file(), "--runs", &runs, "--trust", "--json"];
    let refused = inside(&namespace, &folder, &arguments);
    assert_eq!((refused.code, refused.stderr.lines().count()), (2, 1), "{}", refused.stderr);
    assert!(refused.stderr.contains("--allow-tune"), "{}", refused.stderr);
    assert!(!Path::new(&runs).exists(), "nothing was started");

    let said = inside(&namespace, &folder, &[&arguments[..], &["--allow-tune"]].concat());
    let document = said.record();
    assert_eq!(somaxconn(&namespace), before, "it is put back");
    let folder_of = Path::new(&runs).join(document["id"].as_str().unwrap()).join("runs");
    let mut cells = Vec::new();
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
        cells.push((cell["name"].as_str().unwrap(), record));
    }
    // A starved machine may not know the rate of a cell, and then nothing is decided.
    let known = |side: &str| {
        let of_side = cells.iter().filter(|(name, _)| name.starts_with(side));
        of_side.filter(|(_, record)| !record["verdict"]["ceiling"].is_null()).count()
    };
    let is_known = known("as it is") == 2 && known("longer") == 2;
    let kept = &document["predictions"][0];
    let told = if is_known { "2 pairs of runs" } else { "no valid number" };
    assert!(kept["why"].as_str().unwrap().contains(told), "{kept}");
    // Nor does a rate decide that is only a lower bound of the ceiling.
    let is_bound = cells.iter().any(|(_, run)| run["verdict"]["ceiling"]["kind"] == "at-least");
    let is_told = kept["why"].as_str().unwrap().contains("ceiling");
    assert_eq!(is_told, is_known && is_bound, "{kept}");
    let is_within = |low: f64, high: f64| low >= -0.99 && high <= 99.0;
    let is_inside = is_known
        && !is_bound
        && kept["low"].as_f64().zip(kept["high"].as_f64()).is_some_and(|(l, h)| is_within(l, h));
    assert_eq!(kept["inside"].as_bool(), is_inside.then_some(true), "{kept}");

    let said = run(&["advise", "--calibration", "--runs", &runs]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let held = if is_inside { "1 OF 1 DECIDED" } else { "0 OF 0 DECIDED" };
    assert!(said.stdout.contains(held), "{}", said.stdout);
    // The table breaks the cell where it is narrow.
    assert!(said.stdout.contains("-99.0 % to +9900.0"), "{}", said.stdout);
}

/// Length of a cell that another command disturbs.
const DISTURBED: &str = "25s";

/// Starts the plan with cells of this length, and waits until the first cell has turned the knob
/// and the generator measures; returns the knob's old value.
fn started(namespace: &Namespace, folder: &Folder, length: &str) -> (Child, String) {
    let before = somaxconn(namespace);
    assert_ne!(before, "7777");
    let (plan, runs) = (folder.file("plan.toml"), folder.file("runs"));
    let text = PLAN.replace("duration = \"1s\"", &format!("duration = \"{length}\""));
    fs::write(&plan, text).unwrap();
    let mut command = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    command.args(["run", &plan, "--servers", &targets_file(), "--runs", &runs]);
    command.args(["--json", "-q", "--allow-tune", "--only", "longer"]);
    command.env("CEILING_TUNE_JOURNAL", folder.path.join("journal"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The server is started after the knob is turned.
    let sent = segments(children(child.id(), 1)[0]);
    measures(child.id(), sent);
    assert_eq!(somaxconn(namespace), "7777");
    (child, before)
}

/// Records of all runs of an experiment.
fn records(folder: &Folder, document: &Value) -> Vec<Value> {
    let kept = Path::new(&folder.file("runs")).join(document["id"].as_str().unwrap()).join("runs");
    let read = |run: std::io::Result<fs::DirEntry>| {
        let text = fs::read(run.unwrap().path().join("run.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    fs::read_dir(kept).unwrap().map(read).collect()
}

/// The gate of the only point of a run.
fn gate(record: &Value) -> Option<&Value> {
    record["points"][0]["gates"].as_array().unwrap().iter().find(|gate| gate["id"] == "tuning")
}

/// Another process changes the value while the cell is measured: the cell has no figures, and
/// nothing more is measured on the changed host.
#[test]
fn a_value_that_somebody_else_changes_voids_its_cell_and_those_after_it() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("drift"), Folder::new("advise-drift"));
    let (child, _) = started(&namespace, &folder, DISTURBED);
    namespace.sysctl("net.core.somaxconn", "8888");
    let said = Finished::of(child.wait_with_output().unwrap());
    let document = said.record();
    let fates: Vec<_> = document["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["fate"]["why"].as_str().unwrap_or("").to_string())
        .collect();
    assert!(fates[0].contains("tuning drifted"), "{fates:?}");
    assert!(fates[0].contains("8888"), "{fates:?}");
    assert!(fates[1].contains("not as it was before"), "{fates:?}");
    assert_eq!(somaxconn(&namespace), "8888", "another program's value is left alone");
    assert_eq!(said.code, 5);
    let [record] = &records(&folder, &document)[..] else { panic!("one run") };
    assert_eq!(
        record["host"]["tuned"].as_array().unwrap().len(),
        1,
        "the run records what was tuned"
    );
    let gate = gate(record).expect("something is tuned");
    assert_eq!(gate["ok"], false, "{gate}");
}

/// Waits until a process has started that many others; returns their ids.
fn children(of: u32, count: usize) -> Vec<u32> {
    let children = format!("/proc/{of}/task/{of}/children");
    let mut started = Vec::new();
    wait_until("processes that it starts", || {
        let text = fs::read_to_string(&children).unwrap();
        started = text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        started.len() >= count
    });
    started
}

/// Another process puts the knob back while the cell is measured: the host is as it was before, but
/// the cell did not measure the change that it names.
#[test]
fn a_knob_that_is_put_back_in_order_voids_its_cell_and_no_other() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("advise-b"), Folder::new("advise-back"));
    let (child, _) = started(&namespace, &folder, DISTURBED);
    let reverted = inside(&namespace, &folder, &["tune", "revert"]);
    assert_eq!(reverted.code, 0, "{}", reverted.stderr);
    let document = Finished::of(child.wait_with_output().unwrap()).record();
    let cells = &document["cells"];
    let why = cells[0]["fate"]["why"].as_str().unwrap();
    assert!(why.contains("tuning drifted") && why.contains("put back meanwhile"), "{why}");
    assert_eq!(cells[1]["fate"]["fate"], "measured", "{cells:#}");
    let records = records(&folder, &document);
    let mut gates: Vec<_> =
        records.iter().map(|record| gate(record).unwrap()["ok"].clone()).collect();
    gates.sort_by_key(|ok| ok.as_bool());
    assert_eq!(gates, [false, true], "the first cell and the second one");
}

/// The watchdog puts back a change that was not kept while a load goes on.
#[test]
fn what_the_watchdog_puts_back_in_mid_run_is_no_measurement() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("advise-g"), Folder::new("advise-guard"));
    let sink = namespace.command(&program("target-sink"));
    let server = Server::start_as(sink, &["--threads", "1", "--delay", "fixed:5ms"]);
    let before = somaxconn(&namespace);
    let apply = ["tune", "apply", "--only", "somaxconn", "--profile", "seeds", "--deadline", LATE];
    let applied = inside(&namespace, &folder, &apply);
    assert_eq!(applied.code, 0, "{}", applied.stderr);
    assert_ne!(somaxconn(&namespace), before);
    let journal = folder.path.join("journal");
    let mut load = namespace.command(Path::new(env!("CARGO_BIN_EXE_ceiling")));
    load.args(["load", &server.url("/simple"), "-c", "4", "-t", "1"]);
    load.env("CEILING_TUNE_JOURNAL", &journal);
    let loading = Loading::start(load, &folder.file("runs"), server.pid);
    // It does the same at its deadline and when it gets a signal.
    let watching = || watchdogs(journal.to_str().unwrap());
    let [watchdog] = watching()[..] else { panic!("one watchdog") };
    signal(watchdog, "TERM");
    wait_until("the watchdog to put the knob back, and to end", || watching().is_empty());
    assert_eq!(somaxconn(&namespace), before);
    let said = loading.end();
    let record = said.record();
    assert_eq!(record["host"]["tuned"].as_array().unwrap().len(), 1, "as it began");
    let gate = gate(&record).expect("it was tuned");
    assert_eq!(gate["ok"], false, "{gate}");
    assert!(gate["why"].as_str().unwrap().contains("put back since the run began"), "{gate}");
}

/// The server forks its workers before any knob is turned, and the workers do the work.
#[test]
fn the_knobs_of_a_server_that_forks_are_turned_for_its_workers() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("advise-f"), Folder::new("advise-forks"));
    let (plan, runs) = (folder.file("plan.toml"), folder.file("runs"));
    let text = r#"
schema = "ceiling.plan/1"
question = "Does it matter where its workers run?"
server = { target = "fiber-prefork", args = ["--workers", "2"] }
load = { command = "load", path = "/simple", connections = 4, duration = "1s", threads = 1 }
tune = { only = ["server-cpus"], cpus = "0/1" }
"#;
    fs::write(&plan, text).unwrap();
    let arguments = ["run", &plan, "--servers", &targets_file(), "--runs", &runs, "--json", "-q"];
    let said = inside(&namespace, &folder, &[&arguments[..], &["--allow-tune"]].concat());
    let cell = said.record()["cells"][0].clone();
    assert_eq!(cell["fate"]["fate"], "measured", "{cell:#}");
    let tuned = cell["tuned"].as_array().unwrap();
    assert_eq!(tuned.len(), 3, "the first process and two workers: {cell:#}");
    assert!(tuned.iter().all(|row| row["wanted"] == "1"), "{cell:#}");
}

#[test]
fn ctrl_c_in_a_tuned_cell_puts_the_knob_back_and_keeps_what_was_measured() {
    must_be_root();
    let _turn = turn();
    let namespace = Namespace::new("advise-c");
    // If nothing were changed, the second press would end the run at once.
    for presses in [1, 2] {
        let folder = Folder::new("advise-ctrl-c");
        let (child, before) = started(&namespace, &folder, "600s");
        for _ in 0..presses {
            signal(child.id(), "INT");
            thread::sleep(Duration::from_millis(20));
        }
        let said = Finished::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 130, "{}", said.stderr);
        assert_eq!(somaxconn(&namespace), before, "{}", said.stderr);
        let document = said.record();
        let first = &document["cells"][0];
        let fates = first["tuned"].as_array().unwrap().iter().map(|row| row["fate"].clone());
        assert_eq!(fates.collect::<Vec<_>>(), ["reverted"], "{first:#}");
        // Only the run got the signal; it stopped the generator.
        let why = first["fate"]["why"].as_str().unwrap();
        assert!(why.starts_with("interrupted; the part measured so far is run"), "{first:#}");
        let status = inside(&namespace, &folder, &["tune", "status"]);
        assert!(status.stdout.contains("Nothing is changed"), "{}", status.stdout);
    }
}

#[test]
fn a_killed_run_leaves_its_knob_in_the_journal_and_revert_puts_it_back_at_once() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("advise-k"), Folder::new("advise-killed"));
    let (mut child, before) = started(&namespace, &folder, "600s");
    let journal = folder.path.join("journal");
    let watching = || watchdogs(journal.to_str().unwrap());
    // The watchdog, the keeper of the server, and the generator.
    let mut started = children(child.id(), 3);
    started.retain(|pid| !watching().contains(pid));
    signal(child.id(), "KILL");
    child.wait().unwrap();
    let runs = |pid: &u32| Path::new(&format!("/proc/{pid}/exe")).read_link().is_ok();
    wait_until("the end of the server and the generator", || !started.iter().any(runs));
    assert_eq!(somaxconn(&namespace), "7777", "its deadline has not passed");
    let status = inside(&namespace, &folder, &["tune", "status"]);
    assert!(status.stdout.contains("somaxconn"), "{}", status.stdout);
    let reverted = inside(&namespace, &folder, &["tune", "revert"]);
    assert_eq!(reverted.code, 0, "{}", reverted.stderr);
    assert_eq!(somaxconn(&namespace), before);
    wait_until("the watchdog to end", || watching().is_empty());
}

/// Longer than the deadline of a knob: the deadline is extended while the run goes on, and not
/// after it.
const PAST_THE_DEADLINE: Duration = Duration::from_secs(65);

#[test]
fn a_knob_stays_for_as_long_as_its_run_lives_and_no_longer() {
    must_be_root();
    let _turn = turn();
    let (namespace, folder) = (Namespace::new("advise-l"), Folder::new("advise-lease"));
    let (mut child, before) = started(&namespace, &folder, "600s");
    thread::sleep(PAST_THE_DEADLINE);
    assert_eq!(somaxconn(&namespace), "7777", "its cell goes on");
    signal(child.id(), "KILL");
    child.wait().unwrap();
    wait_until("the watchdog to put it back", || somaxconn(&namespace) == before);
    let journal = folder.path.join("journal");
    wait_until("the watchdog to end", || watchdogs(journal.to_str().unwrap()).is_empty());
}
