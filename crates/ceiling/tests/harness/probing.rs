//! A running probe that ends with its test.

use super::{Folder, PATIENCE, alone, signal};
use remote::Call;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

pub const NAMED: &str = env!("CARGO_BIN_EXE_ceiling");

/// A call of a probe that asks about its host.
pub fn call(address: &str, token_file: &str, pin: &str) -> Call {
    Call {
        address: address.to_string(),
        token_file: PathBuf::from(token_file),
        pin: pin.to_string(),
        ip: None,
        port: None,
        period_ns: 1_000_000_000,
        ends_after_ns: None,
    }
}

/// A running probe, with its ready line.
pub struct Probe {
    pub child: Child,
    pub ready: String,
    /// The lines that it prints later.
    stderr: Receiver<String>,
}

impl Probe {
    /// Starts a prepared command as a probe with a token in this folder.
    pub fn start_as(mut command: Command, folder: &Folder, more: &[&str]) -> Self {
        command.args(["probe", "serve", "--token-file", &folder.file("token")]).args(more);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        if !ready.contains("ready on") {
            let mut said = String::new();
            lines.read_to_string(&mut said).unwrap();
            panic!("{ready}{said}");
        }
        let (tell, stderr) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                if tell.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self { child, ready, stderr }
    }

    /// Starts a probe on a free port of loopback.
    pub fn start(folder: &Folder, more: &[&str]) -> Self {
        let listen = ["--listen", "127.0.0.1:0"];
        Self::start_as(alone(Command::new(NAMED)), folder, &[&listen, more].concat())
    }

    /// The flags of the ready line, as a user would copy them.
    pub fn flags(&self) -> Vec<&str> {
        let begin = self.ready.find("--probe ").expect("flags in the ready line");
        self.ready[begin..].split_whitespace().collect()
    }

    pub fn address(&self) -> &str {
        self.flags()[1]
    }

    /// A call that asks about its host.
    pub fn call(&self) -> Call {
        let flags = self.flags();
        call(flags[1], flags[3], flags[5])
    }

    /// The flags with one value replaced.
    pub fn flags_but<'a>(&'a self, flag: &str, value: &'a str) -> Vec<&'a str> {
        let mut flags = self.flags();
        let at = flags.iter().position(|word| *word == flag).unwrap();
        flags[at + 1] = value;
        flags
    }

    /// Waits until it prints a line with this word.
    pub fn says(&mut self, word: &str) -> String {
        let mut said = String::new();
        let begin = Instant::now();
        while let Ok(line) = self.stderr.recv_timeout(PATIENCE.saturating_sub(begin.elapsed())) {
            if line.contains(word) {
                return line;
            }
            said += &line;
        }
        panic!("it did not print '{word}' but '{said}'");
    }

    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
