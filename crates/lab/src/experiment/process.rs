//! A target as a process: started, waited for, ended, and asked what it counted.

#![allow(unsafe_code, reason = "a child between fork and exec")]

use model::secret;
use model::starting::TargetExit;
use plan::Target;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A target makes its pool and fills its tables before it listens.
const READY_LIMIT: Duration = Duration::from_secs(120);

/// How often it is looked whether anybody still waits.
const LOOK: Duration = Duration::from_millis(100);

/// A target ends started requests for a second, and its workers have five to report.
const END_LIMIT: Duration = Duration::from_secs(15);

/// The part of a log that fits one line.
const TOLD_MAX_CHARS: usize = 300;

/// A running target.
#[derive(Debug)]
pub struct Process {
    name: String,
    words: Vec<String>,
    child: Child,
    addr: String,
    lines: Receiver<String>,
    log: PathBuf,
    is_ended: bool,
}

/// How a target is started.
#[derive(Debug, Clone, Copy)]
pub struct How<'a> {
    /// Appended to its words.
    pub args: &'a [String],
    /// Added to its environment.
    pub env: &'a BTreeMap<String, String>,
    /// CPUs as users write them; empty means all.
    pub cpus: &'a str,
    /// Its own folder, for targets that name one.
    pub folder: &'a str,
    /// Once it is set, the wait for it to listen ends.
    pub stop: &'a AtomicBool,
}

impl Process {
    /// Starts a target on a free loopback port and waits until it responds.
    pub fn start(target: &Target, how: &How<'_>, root: &Path, log: &Path) -> Result<Self, String> {
        let place = |word: &String| {
            let word = word.replace("{addr}", "127.0.0.1").replace("{port}", "0");
            word.replace("{dir}", how.folder)
        };
        let words = target.run.iter().map(place).chain(how.args.iter().cloned());
        let words: Vec<String> = words.collect();
        let mut command = Command::new(program(&words[0], root));
        command.args(&words[1..]).envs(how.env).current_dir(root);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log_file(log)?);
        // A key on the terminal ends us, and we end them: until then they must be measured whole.
        command.process_group(0);
        live_with_us(&mut command, cpus_of(how.cpus)?);
        let name = target.name.clone();
        let failed = |why: String| format!("target {name}: {why}");
        let mut child = command.spawn().map_err(|error| failed(refusal(&words[0], how, &error)))?;
        let lines = read_lines(&mut child);
        let log = log.to_path_buf();
        let mut process = Self {
            name: name.clone(),
            words,
            child,
            addr: String::new(),
            lines,
            log,
            is_ended: false,
        };
        process.addr = process.listen(&target.ready.event, how.stop).map_err(failed)?;
        Ok(process)
    }

    /// Waits for the line that says where it listens.
    fn listen(&mut self, event: &str, stop: &AtomicBool) -> Result<String, String> {
        let deadline = Instant::now() + READY_LIMIT;
        let line = loop {
            match self.lines.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    return Err("interrupted before it listened".to_string());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
                line => break line,
            }
        };
        match line {
            Ok(line) => {
                let value: Option<Value> = serde_json::from_slice(line.as_bytes()).ok();
                let value = value.filter(|value| value["event"] == event);
                let addr = value.and_then(|value| Some(value["addr"].as_str()?.to_string()));
                addr.ok_or_else(|| {
                    format!("its first line is no '{event}': {}", secret::text(&line))
                })
            }
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("does not listen after {} s", READY_LIMIT.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait();
                self.is_ended = true;
                Err(self.told(&format!("ended before it listened ({})", ending(status.ok()))))
            }
        }
    }

    /// What it is called in plans.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Words it was started with.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// HOST:PORT.
    pub fn addr(&self) -> &str {
        &self.addr
    }

    /// Whether it still runs, or how it ended.
    pub fn alive(&mut self) -> Result<(), String> {
        let Ok(Some(status)) = self.child.try_wait() else { return Ok(()) };
        self.is_ended = true;
        let why = self.told(&format!("died ({})", ending(Some(status))));
        Err(format!("target {}: {why}", self.name))
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it in order.
    pub fn end(mut self) -> TargetExit {
        if let Ok(Some(status)) = self.child.try_wait() {
            self.is_ended = true;
            let fault = self.told(&format!("died during the cell ({})", ending(Some(status))));
            return TargetExit { stopped: None, fault: Some(fault) };
        }
        signal(self.child.id());
        let stopped = self.last_line();
        let status = self.wait();
        let fault = match status {
            None => Some(format!("did not end within {} s", END_LIMIT.as_secs())),
            Some(status) if status.success() => None,
            Some(status) => {
                Some(self.told(&format!("did not end well ({})", ending(Some(status)))))
            }
        };
        TargetExit { stopped, fault }
    }

    /// The last line that is JSON; it comes before the end of the output.
    fn last_line(&mut self) -> Option<Value> {
        let deadline = Instant::now() + END_LIMIT;
        let mut last = None;
        while let Ok(line) =
            self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            last = serde_json::from_slice(line.as_bytes()).ok().or(last);
        }
        last
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + END_LIMIT;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.is_ended = true;
                return Some(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// A sentence with the last line of its log.
    fn told(&self, sentence: &str) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        match log.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => {
                let line = secret::text(line);
                let line: String = line.chars().take(TOLD_MAX_CHARS).collect();
                format!("{sentence}: {line}")
            }
            None => sentence.to_string(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A program with a slash is of the root, not of where we happen to be.
pub fn program(word: &str, root: &Path) -> PathBuf {
    if word.contains('/') { root.join(word) } else { PathBuf::from(word) }
}

/// Opens a log to write.
pub fn log_file(path: &Path) -> Result<Stdio, String> {
    let file = File::create(path);
    file.map(Stdio::from).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// CPUs as users write them; none means all.
pub fn cpus_of(text: &str) -> Result<Vec<usize>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    model::units::parse_cpus(text)
        .ok_or_else(|| format!("'{text}' is not a list of CPU numbers; for example cpus = \"0\""))
}

/// Lets a process end when we do, however we end, and keeps it on its CPUs.
pub fn live_with_us(command: &mut Command, cpus: Vec<usize>) {
    let parent = rustix::process::getpid();
    let prepare = move || {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
        if rustix::process::getppid() != Some(parent) {
            // The parent ended in between, so no signal will come.
            return Err(std::io::Error::from(rustix::io::Errno::CHILD));
        }
        if !cpus.is_empty() {
            let mut set = rustix::thread::CpuSet::new();
            for cpu in cpus.iter().filter(|cpu| **cpu < rustix::thread::CpuSet::MAX_CPU) {
                set.set(*cpu);
            }
            rustix::thread::sched_setaffinity(None, &set)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only; it neither allocates nor
    // takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// Why a program could not be started, and what helps.
fn refusal(program: &str, how: &How<'_>, error: &std::io::Error) -> String {
    // The kernel's error for a mask without a usable CPU; no other call between fork and exec fails
    // like this.
    if error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) && !how.cpus.is_empty()
    {
        return format!("this host has none of the CPUs {}; for example cpus = \"0\"", how.cpus);
    }
    format!("cannot start {program}: {error}; make build")
}

/// Asks a process to end.
fn signal(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
}

fn ending(status: Option<ExitStatus>) -> String {
    status.map_or("unknown".to_string(), |status| status.to_string())
}

/// Lines of the standard output, read by a thread that ends with it.
fn read_lines(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    lines
}
