//! Experiments that confirm a verdict, and that what they change at a server is put back.

use crate::harness::{
    Folder, Group, Server, ceiling, is_root, measure, program, shown, signal, turn, wall,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

/// The experiment on a resource; null when it was not made, because the run was no measurement.
fn experiment<'a>(record: &'a Value, resource: &str) -> &'a Value {
    let made = record["perturbations"].as_array().unwrap();
    made.iter().find(|one| one["resource"] == resource).unwrap_or(&Value::Null)
}

/// Measures until `is_right`, five times at most: others use this machine. What an experiment
/// must never say is not tolerated once.
fn confirm(
    arguments: &[&str],
    never: (&str, &str),
    is_right: impl Fn(&Value) -> bool,
) -> (i32, Value) {
    let mut last = None;
    for attempt in 0..5 {
        thread::sleep(Duration::from_secs(attempt));
        let (code, record) = measure(arguments);
        let (resource, says) = never;
        assert_ne!(experiment(&record, resource)["says"], says, "{:#}", record["perturbations"]);
        if is_right(&record) {
            return (code, record);
        }
        last = Some(record);
    }
    let record = last.unwrap();
    panic!("{:#} {}", record["perturbations"], shown(&record));
}

#[test]
fn a_pool_that_is_full_does_not_follow_the_load() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--delay", "fixed:20ms", "--serve-at-once", "4"]);
    let load = ["load", &server.url("/"), "-c", "24", "-t", "1", "-d", "1", "--confirm"];
    let says = |record: &Value| experiment(record, "in_flight")["says"] == "does_not_limit";
    let (_, record) = confirm(&load, ("in_flight", "limits"), says);
    let made = experiment(&record, "in_flight");
    assert_eq!(made["what"], "30 instead of 24 requests in flight");
    assert_eq!(made["base"].as_array().unwrap().len() % 4, 0);
    assert_ne!(wall(&record), "none", "{}", shown(&record));
    assert_eq!(record["points"].as_array().unwrap().len(), 1, "blocks are no points");
    let evidence = record["verdict"]["evidence"].to_string();
    assert!(evidence.contains("elasticity of the rate in requests in flight"), "{evidence}");
}

#[test]
fn an_idle_server_follows_the_load() {
    let _turn = turn();
    let server = Server::start("target-sink", &["--delay", "fixed:20ms"]);
    let load = ["load", &server.url("/"), "-c", "8", "-t", "1", "-d", "1", "--confirm"];
    let never = ("in_flight", "does_not_limit");
    let (code, record) = confirm(&load, never, |record| {
        experiment(record, "in_flight")["says"] == "limits" && wall(record) == "none"
    });
    assert_eq!(code, 0, "{}", shown(&record));
    let what = experiment(&record, "in_flight")["what"].as_str().unwrap();
    assert!(what.contains("10 instead of 8"), "{what}");
}

/// A server in a group with a quota, and where runs that are tested keep their journal.
struct Limited {
    server: Server,
    group: Group,
    runtime: Folder,
}

impl Limited {
    fn new(name: &str) -> Self {
        let (group, runtime) = (Group::new(name, None), Folder::new(name));
        group.limit(0.2);
        let command = group.command(&program("target-sink"));
        let server = Server::start_as(command, &["--threads", "1", "--burn", "100us"]);
        Self { server, group, runtime }
    }

    /// What the group is like: its settings, its processes and the groups in it.
    fn state(&self) -> Vec<(PathBuf, String)> {
        let mut state: Vec<_> = fs::read_dir(&self.group.path).unwrap().flatten().collect();
        state.sort_by_key(fs::DirEntry::path);
        let counts = |path: &Path| path.to_string_lossy().contains("stat");
        let read = |entry: fs::DirEntry| {
            let path = entry.path();
            // Counters and usage go on; settings and members must be the same.
            let is_setting = path.is_file() && !counts(&path) && !is_usage(&path);
            let text = if is_setting {
                fs::read_to_string(&path).unwrap_or_default()
            } else {
                String::new()
            };
            (path, text)
        };
        state.into_iter().map(read).collect()
    }

    /// Begins to load with server-side experiments.
    fn begin(&self) -> Child {
        let url = self.server.url("/");
        let words = ["load", &url, "-c", "8", "-t", "1", "-d", "1", "--confirm"];
        let mut command = ceiling(&[&words[..], &["--may-touch-server"]].concat());
        command.env("XDG_RUNTIME_DIR", &self.runtime.path);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Loads until the server is in another group. A run that others disturb is no measurement and
    /// makes no experiments; another is made then.
    fn begin_until_touched(&self) -> Child {
        for _ in 0..5 {
            let mut child = self.begin();
            while child.try_wait().unwrap().is_none() {
                if !self.members().contains(&self.server.pid) {
                    assert_eq!(self.journals(), 1, "a journal while the server is elsewhere");
                    return child;
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        panic!("no experiment on the server in five runs");
    }

    fn members(&self) -> Vec<u32> {
        let procs = fs::read_to_string(self.group.path.join("cgroup.procs")).unwrap();
        procs.lines().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Entries about this server, in the journal that root takes; whatever XDG_RUNTIME_DIR says.
    fn journals(&self) -> usize {
        let group = self.group.path.display().to_string();
        let is_ours = |entry: &fs::DirEntry| {
            fs::read_to_string(entry.path()).is_ok_and(|text| text.contains(&group))
        };
        let folder = fs::read_dir("/run/ceiling");
        folder.map_or(0, |entries| entries.flatten().filter(is_ours).count())
    }
}

fn is_usage(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("usage"))
}

#[test]
fn a_quota_is_confirmed_by_a_lower_one_and_is_as_before_afterwards() {
    let _turn = turn();
    if !is_root("a_quota_is_confirmed_by_a_lower_one_and_is_as_before_afterwards") {
        return;
    }
    let limited = Limited::new("confirmed");
    let before = limited.state();
    let url = limited.server.url("/");
    let load = ["load", &url, "-c", "8", "-t", "1", "-d", "2", "--confirm", "--may-touch-server"];
    let (code, record) = confirm(&load, ("server_cpu", "does_not_limit"), |record| {
        wall(record) == "S3"
            && record["verdict"]["confidence"] == "confirmed"
            && experiment(record, "in_flight")["says"] == "does_not_limit"
    });
    assert_eq!(code, 0, "{}", shown(&record));
    assert_eq!(experiment(&record, "server_cpu")["factor"], 0.8);
    assert_eq!(limited.state(), before);
}

#[test]
fn an_interrupt_in_the_middle_puts_the_server_back() {
    let _turn = turn();
    if !is_root("an_interrupt_in_the_middle_puts_the_server_back") {
        return;
    }
    let limited = Limited::new("interrupted");
    let before = limited.state();
    let child = limited.begin_until_touched();
    signal(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("it was interrupted"), "{text}");
    assert_eq!((limited.state(), limited.journals()), (before, 0));
}

#[test]
fn what_a_killed_run_left_is_put_back_by_the_next() {
    let _turn = turn();
    if !is_root("what_a_killed_run_left_is_put_back_by_the_next") {
        return;
    }
    let limited = Limited::new("killed");
    let before = limited.state();
    let mut child = limited.begin_until_touched();
    let another = |limited: &Limited| {
        let null = ["load", "http://null/", "--driver", "null", "-d", "100ms", "--warmup", "0"];
        let mut command = ceiling(&[&null[..], &["-t", "1", "-q"]].concat());
        command.env("XDG_RUNTIME_DIR", &limited.runtime.path).output().unwrap().stderr
    };
    assert_eq!(another(&limited), b"", "the owner is alive, so its change stays");
    assert!(!limited.members().contains(&limited.server.pid));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(limited.journals(), 1);
    assert!(!limited.members().contains(&limited.server.pid), "nobody was there to do it");
    let told = String::from_utf8(another(&limited)).unwrap();
    assert!(told.contains("put back") && told.contains("killed"), "{told}");
    assert_eq!((limited.state(), limited.journals()), (before, 0));
}
