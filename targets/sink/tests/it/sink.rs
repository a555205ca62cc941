//! A sink that runs for one test.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

use crate::client::Client;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_target-sink");

/// A running sink. Dropping it kills it.
pub struct Sink {
    child: Child,
    out: BufReader<ChildStdout>,
    /// Its first line.
    pub listening: Value,
    /// Where it listens.
    pub addr: SocketAddr,
}

impl Sink {
    /// Starts a sink on a free port with the options in `line`.
    pub fn start(line: &str) -> Self {
        Self::start_words(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub fn start_words(words: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["--port", "0"])
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).expect("one line of JSON");
        let addr = listening["addr"].as_str().unwrap().parse().unwrap();
        Self { child, out, listening, addr }
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.addr)
    }

    /// The record so far.
    pub fn stats(&self) -> Value {
        let response = self.connect().get("/stats");
        serde_json::from_slice(&response.body).unwrap()
    }

    /// Clears the record.
    pub fn reset(&self) -> Value {
        let response = self.connect().ask("POST /stats/reset HTTP/1.1\r\nHost: a\r\n\r\n");
        serde_json::from_slice(&response.body).unwrap()
    }

    /// Stops it with SIGTERM; returns its last line, which must be the only other line.
    pub fn stop(self) -> Value {
        self.stop_by("TERM")
    }

    pub fn stop_by(mut self, signal: &str) -> Value {
        let pid = self.child.id().to_string();
        let killed = Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
        assert!(killed.success());
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        assert_eq!(rest.matches('\n').count(), 1, "{rest:?}");
        let stopped: Value = serde_json::from_str(&rest).unwrap();
        assert_eq!((&stopped["event"], &stopped["target"]), (&"stopped".into(), &"sink".into()));
        stopped
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a sink that is expected not to start.
pub fn refuse(line: &str) -> Output {
    Command::new(PROGRAM).args(line.split_whitespace()).output().unwrap()
}

/// A number of a record.
pub fn number(record: &Value, name: &str) -> u64 {
    record[name].as_u64().unwrap_or_else(|| panic!("{name} in {record}"))
}
