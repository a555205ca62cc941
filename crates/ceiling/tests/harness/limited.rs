//! A server in a control group with a quota, for experiments that touch it.

use super::{Folder, Group, Server, ceiling, program, signal};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

/// A server in a group with a quota, and the journal of the runs under test.
pub struct Limited {
    pub server: Server,
    group: Group,
    pub runtime: Folder,
}

impl Limited {
    /// Starts a server that may use this share of one CPU.
    pub fn new(name: &str, share: f64) -> Self {
        let (group, runtime) = (Group::new(name, None), Folder::new(name));
        group.limit(share);
        let command = group.command(&program("target-sink"));
        let server = Server::start_as(command, &["--threads", "1", "--burn", "100us"]);
        Self { server, group, runtime }
    }

    /// The state of the group: its settings, its processes and the groups in it; and the CPUs of
    /// the server.
    pub fn state(&self) -> Vec<(PathBuf, String)> {
        let mut state: Vec<_> = fs::read_dir(&self.group.path).unwrap().flatten().collect();
        state.sort_by_key(fs::DirEntry::path);
        let read = |entry: fs::DirEntry| {
            let path = entry.path();
            // Counters and usage change all the time; settings and members must be the same.
            let is_setting = path.is_file() && !is_usage(&path);
            let text = if is_setting {
                fs::read_to_string(&path).unwrap_or_default()
            } else {
                String::new()
            };
            (path, text)
        };
        let mask = (PathBuf::from("mask"), self.mask());
        state.into_iter().map(read).chain([mask]).collect()
    }

    /// Starts a load with server-side experiments.
    fn begin(&self) -> Child {
        let url = self.server.url("/");
        // In an emulated machine the first load of all is too slow for any verdict.
        let first = ceiling(&["load", &url, "-c", "8", "-t", "1", "-n", "100", "-q"]).status();
        first.expect("the command under test");
        let words = ["load", &url, "-c", "8", "-t", "1", "-d", "3", "--confirm", "-vv"];
        let mut command = ceiling(&[&words[..], &["--may-touch-server"]].concat());
        command.env("CEILING_TUNE_JOURNAL", self.journal());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts a load and stops it with SIGSTOP when an experiment has changed the server, so that
    /// the change stays; SIGCONT resumes it. A run that is disturbed is not a valid measurement and
    /// makes no experiments: then another run is made.
    pub fn begin_until_touched(&self) -> Child {
        let before = self.touched();
        for _ in 0..5 {
            let mut child = self.begin();
            while child.try_wait().unwrap().is_none() {
                if self.touched() != before {
                    signal(child.id(), "STOP");
                    if self.touched() != before {
                        assert_eq!(self.journals(), 1, "a journal while the server is changed");
                        return child;
                    }
                    signal(child.id(), "CONT");
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        panic!("no experiment on the server in five runs");
    }

    /// What experiments change: the group of the server, its CPU quota there, and its CPUs.
    pub fn touched(&self) -> [String; 3] {
        let read = |name| fs::read_to_string(self.group.path.join(name)).unwrap_or_default();
        [read("cgroup.procs"), read("cpu.max"), self.mask()]
    }

    /// CPUs that the server may run on.
    fn mask(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server.pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap().trim().to_string()
    }

    /// The folder of the journal.
    pub fn journal(&self) -> PathBuf {
        self.runtime.path.join("journal")
    }

    /// How many transactions are open.
    pub fn journals(&self) -> usize {
        let is_open =
            |entry: &fs::DirEntry| entry.path().extension().is_some_and(|end| end == "jsonl");
        let folder = fs::read_dir(self.journal());
        folder.map_or(0, |entries| entries.flatten().filter(is_open).count())
    }
}

/// Whether a file of a group shows usage and not a setting.
fn is_usage(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    let words = ["stat", "usage", "current", "peak", "pressure", "events"];
    words.iter().any(|word| name.contains(word))
}
