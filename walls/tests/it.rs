//! The harness on this machine: some scenarios that take seconds, and what a crash leaves behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Scenarios of a few seconds each, one of each kind of limit.
const FAST: &str = "quota,client-ports,server-files,limiter-reject,sleeping-server";

/// Those of them whose limit has a count of its own.
const COUNTED: [&str; 2] = ["client-ports", "server-files"];

static TURN: Mutex<()> = Mutex::new(());

/// Scenarios run one at a time.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the test may change control groups and namespaces; says so when not.
fn is_root(test: &str) -> bool {
    let uid = Command::new("id").arg("-u").output().unwrap();
    let is_root = uid.stdout.starts_with(b"0\n");
    if !is_root {
        println!("{test}: skipped, it needs root for control groups and namespaces");
    }
    is_root
}

fn programs() -> PathBuf {
    let bin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bin");
    assert!(bin.join("ceiling").exists(), "bin/ceiling is missing: run make build");
    bin
}

fn keep(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ceiling-walls-test-{name}-{}", std::process::id()))
}

fn run(keep: &Path, only: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_walls"));
    command.args(["run", "--no-proof", "--only", only, "--bin"]).arg(programs());
    command.arg("--keep").arg(keep).stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Names of everything of a process that the host still has.
fn left_by(process: u32) -> Vec<String> {
    let listed = Command::new("ip").args(["netns", "list"]).output().unwrap();
    let namespaces = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut names: Vec<String> = namespaces
        .lines()
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect();
    for groups in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"] {
        let entries = fs::read_dir(groups).into_iter().flatten().flatten();
        names.extend(entries.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    }
    let own = format!("ceiling-walls-{process}");
    names.retain(|name| *name == own || name.starts_with(&format!("{own}-")));
    names
}

/// Limits with a count of their own have to be named and may never be taken for others. Of the rest
/// most have to be named as well, and none may be taken for another time and again: who else uses
/// this machine changes.
#[test]
fn known_walls_are_never_taken_for_others() {
    if !is_root("known_walls_are_never_taken_for_others") {
        return;
    }
    let _turn = turn();
    let mut missing = FAST.split(',').collect::<Vec<_>>();
    let (mut last, mut wrong) = (String::new(), Vec::new());
    for _ in 0..4 {
        let keep = keep("fast");
        let output = run(&keep, &missing.join(",")).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let mut score = Command::new(env!("CARGO_BIN_EXE_walls"));
        let output = score.args(["score", "--all"]).arg(&keep).output().unwrap();
        last = text(&output);
        fs::remove_dir_all(&keep).unwrap();
        let draws: Vec<&str> = last.lines().filter(|line| line.contains("Untested:")).collect();
        assert_eq!(draws.len(), missing.len(), "each left a run: {last}");
        wrong.clear();
        for draw in draws {
            let both = draw.split("both sides ").nth(1).unwrap();
            let mark = both.split(',').next().unwrap();
            if mark.ends_with("Correct") {
                missing.retain(|name| !draw.starts_with(name));
            } else if mark.ends_with("Wrong") {
                assert!(!COUNTED.iter().any(|name| draw.starts_with(name)), "{last}");
                wrong.push(draw.to_owned());
            }
        }
        if missing.is_empty() {
            return;
        }
    }
    assert!(!missing.iter().any(|name| COUNTED.contains(name)), "{last}");
    assert!(missing.len() < 3 && wrong.is_empty(), "{last}");
}

/// Waits until the run has made its hosts.
fn await_stage(child: &Child) {
    let begin = Instant::now();
    while left_by(child.id()).len() < 3 {
        assert!(begin.elapsed() < Duration::from_secs(30), "no stage was built");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_is_left_by_an_end_an_interrupt_or_after_a_crash() {
    if !is_root("nothing_is_left_by_an_end_an_interrupt_or_after_a_crash") {
        return;
    }
    let _turn = turn();
    let keep = keep("left");
    for signal in ["INT", "KILL"] {
        let mut child = run(&keep, "backlog-drops").stdout(Stdio::null()).spawn().unwrap();
        await_stage(&child);
        let status =
            Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(status.unwrap().success());
        child.wait().unwrap();
        if signal == "KILL" {
            assert!(!left_by(child.id()).is_empty(), "a crash has no time to clean up");
            let next = run(&keep, "client-ports").output().unwrap();
            assert!(next.status.success(), "{}", text(&next));
        }
        assert_eq!(left_by(child.id()), Vec::<String>::new(), "after {signal}");
        let note = Path::new("/run/ceiling-walls-netdev_max_backlog");
        assert!(!note.exists(), "the machine's own backlog is as it was, after {signal}");
    }
    fs::remove_dir_all(&keep).unwrap();
}

#[test]
fn unknown_names_are_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_walls"));
    let output = command.args(["run", "--only", "no-such"]).output().unwrap();
    let said = text(&output);
    assert!(!output.status.success());
    assert!(said.contains("no-such") || said.contains("needs root") || said.contains("need root"));
}
