//! What a crash of the harness leaves behind; needs root: `make test-host`.

#[path = "../scenes/mod.rs"]
mod scenes;
#[path = "../../../crates/ceiling/tests/harness/spare.rs"]
mod spare;

use scenes::{keep, run, text, turn};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names of everything that a process left on the host.
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

/// Waits until the run has made its hosts.
fn await_stage(child: &Child) {
    let begin = Instant::now();
    while left_by(child.id()).len() < 3 {
        assert!(begin.elapsed() < Duration::from_secs(240), "no stage was built");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_is_left_by_an_end_an_interrupt_or_after_a_crash() {
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
