//! A load that runs until its test has seen what it waits for.

use super::{Finished, signal, wait_until};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Readings of the server's host that a run keeps.
pub const FAR_READINGS: &str = "server-readings.ndjson";

/// More segments than connecting, the preflight and the warm-up take: [`measures`] waits for these.
const SEGMENTS: u64 = 1000;

/// A load of at most ten minutes; its run is kept.
pub struct Loading {
    /// The process; `None` after it was ended.
    child: Option<Child>,
    runs: String,
}

impl Loading {
    /// Starts a prepared `ceiling load`, which keeps its run in a folder without others, and waits
    /// until it measures. Its requests are the traffic in the network namespace of `process`.
    pub fn start(mut command: Command, runs: &str, process: u32) -> Self {
        command.args(["-d", "600s", "--warmup", "0", "-q", "--json", "--runs", runs]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let before = segments(process);
        let child = command.spawn().unwrap();
        let loading = Self { child: Some(child), runs: runs.to_string() };
        measures(process, before);
        loading
    }

    /// Waits for a reading in a file of its run for which `is_so` holds.
    pub fn wait_for(&self, what: &str, file: &str, mut is_so: impl FnMut(&Value) -> bool) {
        let run = fs::read_dir(&self.runs).unwrap().flatten().next().expect("a run is kept").path();
        let mut lines = BufReader::new(File::open(run.join(file)).unwrap());
        let mut line = String::new();
        wait_until(what, || {
            while lines.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
                let reading = serde_json::from_str(&line).unwrap();
                line.clear();
                if is_so(&reading) {
                    return true;
                }
            }
            false
        });
    }

    /// Interrupts it and returns its output.
    pub fn end(mut self) -> Finished {
        let child = self.child.take().unwrap();
        signal(child.id(), "INT");
        let said = Finished::of(child.wait_with_output().unwrap());
        assert_eq!(said.code, 130, "{}{}", said.stdout, said.stderr);
        said
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a load is measuring; `before` is the count of [`segments`] at its start.
pub fn measures(process: u32, before: u64) {
    wait_until("a load that measures", || segments(process) > before + SEGMENTS);
}

/// Segments of TCP that were sent in the network namespace of a process.
pub fn segments(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/net/snmp")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("Tcp:"));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split(' ').collect()).collect();
    let at = rows[0].iter().position(|name| *name == "OutSegs").unwrap();
    rows[1][at].parse().unwrap()
}
