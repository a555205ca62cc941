//! Limits of a started server: it gets its own control group, and no process of the group outlives
//! the run.

use crate::harness::probing::Probe;
use crate::harness::{Folder, PATIENCE, must_be_root, program, run, turn};
use model::starting::{Limits, StartOrder};
use remote::FarServer;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

struct Ground {
    folder: Folder,
    probe: Probe,
}

impl Ground {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let list = folder.file("servers.toml");
        let text = format!(
            "[[target]]\nname = \"web\"\n\
             run = [\"{}\", \"--addr\", \"{{addr}}\", \"--port\", \"{{port}}\", \"--prefork\"]\n\
             ready = {{ event = \"listening\" }}\n[target.allow]\n\
             args = {{ \"--workers\" = \"1..8\" }}\n\
             limits = {{ cpu = \"0.1..8\", memory = \"64M..8G\" }}\n",
            program("target-nethttp").display()
        );
        fs::write(&list, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ceiling"));
        command.env("CEILING_TUNE_JOURNAL", folder.path.join("journal"));
        let flags = ["--listen", "127.0.0.1:0", "--allow-start", &list];
        let probe = Probe::start_as(command, &folder, &flags);
        Self { folder, probe }
    }

    fn start(&self) -> FarServer {
        let call = self.probe.call();
        let order = StartOrder {
            server: "web".to_string(),
            args: vec!["--workers=2".to_string()],
            limits: Limits { cpu: Some(0.5), memory_bytes: Some(256_000_000) },
            ..StartOrder::default()
        };
        let log = self.folder.path.join("server.log");
        FarServer::start(&call, &order, &AtomicBool::new(false), &log).unwrap()
    }

    /// Changes in the journal that are not put back.
    fn changes(&self) -> Vec<Value> {
        let journal = self.folder.file("journal");
        let said = run(&["tune", "status", "--json", "--journal", &journal]);
        let document: Value = serde_json::from_str(&said.stdout).expect(&said.stderr);
        document["transactions"].as_array().unwrap().clone()
    }
}

/// The groups that were made for a process.
fn groups(pid: u32) -> Vec<PathBuf> {
    let chains = ["cpu", "memory"].map(|controller| {
        host::cgroup::chain(&host::Root::default(), controller, pid).unwrap().remove(0).folder
    });
    let mut groups: Vec<PathBuf> = chains.into_iter().collect();
    groups.dedup();
    let is_ours = |group: &PathBuf| group.to_string_lossy().contains("/ceiling-server-");
    assert!(groups.iter().all(is_ours), "{groups:?}");
    groups
}

/// The contents of the first of these files that a group has.
fn says(groups: &[PathBuf], files: &[&str]) -> String {
    let paths = groups.iter().flat_map(|group| files.iter().map(|file| group.join(file)));
    let text = paths.map(fs::read_to_string).find_map(Result::ok).expect("one of the files");
    text.trim().to_string()
}

fn await_removed(groups: &[PathBuf]) {
    let begin = Instant::now();
    while groups.iter().any(|group| Path::new(group).exists()) {
        assert!(begin.elapsed() < PATIENCE, "{groups:?} are still there");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_server_is_limited_in_a_group_that_goes_with_it() {
    must_be_root();
    let _turn = turn();
    let ground = Ground::new("limited-start");
    let server = ground.start();
    let groups = groups(server.pid());
    let cpu = says(&groups, &["cpu.max", "cpu.cfs_quota_us"]);
    assert!(["50000 100000", "50000"].contains(&cpu.as_str()), "{cpu}");
    let memory: u64 = says(&groups, &["memory.max", "memory.limit_in_bytes"]).parse().unwrap();
    assert_eq!(memory, 256_000_000 / 4096 * 4096, "whole pages");
    let inside = host::group::members(&groups[0]).unwrap();
    assert!(inside.contains(&server.pid()) && inside.len() >= 3, "and its workers: {inside:?}");
    let held = ground.changes();
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!(held[0]["note"], "limits of a server that is started");
    assert_eq!(held[0]["held_by"], ground.probe.child.id());
    assert_eq!(server.end().fault, None);
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    assert_eq!(ground.changes(), [Value::Null; 0]);
}

#[test]
fn its_group_goes_when_the_probe_is_killed_and_the_journal_is_closed_by_the_next_start() {
    must_be_root();
    let _turn = turn();
    let mut ground = Ground::new("limited-killed");
    let server = ground.start();
    let groups = groups(server.pid());
    ground.probe.child.kill().unwrap();
    ground.probe.child.wait().unwrap();
    await_removed(&groups);
    drop(server);
    assert_eq!(ground.changes().len(), 1, "the change is still open");
    // Any command that measures or changes this host puts it back.
    let journal = ground.folder.path.join("journal");
    tune::put_back_abandoned(&host::Root::default(), &journal);
    assert_eq!(ground.changes(), [Value::Null; 0]);
}
