//! A server in a control group with a quota, for experiments that touch it.

use super::{Folder, Group, Server, ceiling, program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

/// A server in a group with a quota, and where runs that are tested keep their journal.
pub struct Limited {
    pub server: Server,
    group: Group,
    pub runtime: Folder,
}

impl Limited {
    pub fn new(name: &str) -> Self {
        let (group, runtime) = (Group::new(name, None), Folder::new(name));
        group.limit(0.2);
        let command = group.command(&program("target-sink"));
        let server = Server::start_as(command, &["--threads", "1", "--burn", "100us"]);
        Self { server, group, runtime }
    }

    /// What the group is like: its settings, its processes and the groups in it.
    pub fn state(&self) -> Vec<(PathBuf, String)> {
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
    pub fn begin(&self) -> Child {
        let url = self.server.url("/");
        let words = ["load", &url, "-c", "8", "-t", "1", "-d", "1", "--confirm"];
        let mut command = ceiling(&[&words[..], &["--may-touch-server"]].concat());
        command.env("CEILING_TUNE_JOURNAL", self.journal());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Loads until the server is in another group. A run that others disturb is no measurement and
    /// makes no experiments; another is made then.
    pub fn begin_until_touched(&self) -> Child {
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

    /// The folder of the journal.
    pub fn journal(&self) -> PathBuf {
        self.runtime.path.join("journal")
    }

    pub fn members(&self) -> Vec<u32> {
        let procs = fs::read_to_string(self.group.path.join("cgroup.procs")).unwrap();
        procs.lines().filter_map(|pid| pid.parse().ok()).collect()
    }

    pub fn journals(&self) -> usize {
        let group = self.group.path.display().to_string();
        let is_ours = |entry: &fs::DirEntry| {
            let is_open = entry.path().extension().is_some_and(|end| end == "jsonl");
            is_open && fs::read_to_string(entry.path()).is_ok_and(|text| text.contains(&group))
        };
        let folder = fs::read_dir(self.journal());
        folder.map_or(0, |entries| entries.flatten().filter(is_ours).count())
    }
}

pub fn is_usage(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("usage"))
}
