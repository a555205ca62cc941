//! A target as a process: it is started, waited for, ended, and asked for its counts.

use crate::keeper::{Ended, KeptProcess, Lines, Order, Refused};
use host::Root;
use model::secret;
use model::starting::{Limits, TargetExit};
use plan::Target;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use tune::{Host, ServerGroup};

/// A target creates its pool and fills its tables before it listens.
const READY_LIMIT: Duration = Duration::from_secs(120);

/// How often a wait checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// A target gives started requests a second to end, and its workers five to report.
const END_LIMIT: Duration = Duration::from_secs(15);

/// How long its keeper may take to clean up after it.
const CLEAR_LIMIT: Duration = Duration::from_secs(30);

/// The end of a log that is searched for its last line, bytes.
const LOG_END: u64 = 4 << 10;

/// The part of a log that fits one line.
const TOLD_MAX_CHARS: usize = 300;

/// Lines of the standard output that are kept until it ends, and their bytes. A longer line counts
/// as several.
const TAIL_LINES_MAX: usize = 1000;
const TAIL_BYTES_MAX: usize = 1 << 20;

/// A running target.
#[derive(Debug)]
pub struct Process {
    name: String,
    words: Vec<String>,
    kept: KeptProcess,
    /// Removed after the processes in it.
    group: Option<Box<ServerGroup>>,
    addr: String,
    lines: Receiver<String>,
    log: File,
}

/// How a target is started.
#[derive(Debug, Clone, Copy)]
pub struct How<'a> {
    /// Appended to its command.
    pub args: &'a [String],
    /// Added to its environment.
    pub env: &'a BTreeMap<String, String>,
    /// CPUs as users write them; empty means all.
    pub cpus: &'a str,
    /// What its control group lets it use.
    pub limits: &'a Limits,
    /// Folder of the journal, which records that group before it is created.
    pub journal: &'a Path,
    /// Its soft limit of open files, if that is not ours.
    pub open_files: Option<u64>,
    /// Its own folder, for targets that name one.
    pub folder: &'a str,
    /// Once set, ends the wait for it to listen.
    pub stop: &'a AtomicBool,
}

impl Process {
    /// Starts a target where its list says, by default on a free port of loopback, and waits until
    /// it responds. What it writes on standard error goes to the log.
    pub fn start(target: &Target, how: &How<'_>, root: &Path, log: File) -> Result<Self, String> {
        let failed = |why: String| format!("target {}: {why}", target.name);
        let at = target.place()?;
        let place = |word: &String| {
            let word = word.replace("{addr}", &at.ip().to_string());
            word.replace("{port}", &at.port().to_string()).replace("{dir}", how.folder)
        };
        let words = target.run.iter().map(place).chain(how.args.iter().cloned());
        let words: Vec<String> = words.collect();
        let mut started = words.clone();
        started[0] = program(&words[0], root).to_string_lossy().into_owned();
        let group = limited(how).map_err(failed)?;
        let order = Order {
            words: started,
            env: how.env.clone(),
            folder: root.to_path_buf(),
            cpus: cpus_of(how.cpus)?,
            groups: group.as_ref().map(|group| group.folders()).unwrap_or_default(),
            open_files: how.open_files,
            patience: END_LIMIT,
        };
        let stderr = log.try_clone().map_err(|error| failed(error.to_string()))?;
        let kept = KeptProcess::start(&order, Stdio::piped(), Stdio::from(stderr));
        let (kept, lines) = kept.map_err(|why| failed(refusal(why, how)))?;
        let lines = read_lines(lines);
        let (name, addr) = (target.name.clone(), String::new());
        let mut process = Self { name, words, kept, group, addr, lines, log };
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
                    format!("its first line is not '{event}': {}", secret::text(&line))
                })
            }
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("does not listen after {} s", READY_LIMIT.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let ended = self.kept.wait(CLEAR_LIMIT);
                Err(self.with_log(&format!("ended before it listened ({})", self.ending(ended))))
            }
        }
    }

    /// Its name in plans.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The command it was started with.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// HOST:PORT.
    pub fn addr(&self) -> &str {
        &self.addr
    }

    /// Whether it is still running, or how it ended.
    pub fn alive(&mut self) -> Result<(), String> {
        self.death().map_or(Ok(()), |why| Err(format!("target {}: {why}", self.name)))
    }

    /// How it ended; nothing while it runs.
    pub fn death(&mut self) -> Option<String> {
        let ended = self.kept.ended();
        let is_over = ended.is_some() || self.kept.lost().is_some();
        is_over.then(|| self.with_log(&format!("died ({})", self.ending(ended))))
    }

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.kept.pid()
    }

    /// Ends it in order.
    pub fn end(mut self) -> TargetExit {
        let ended = self.kept.ended();
        if ended.is_some() || self.kept.lost().is_some() {
            let fault = self.with_log(&format!("died during the cell ({})", self.ending(ended)));
            return TargetExit { stopped: None, fault: Some(fault) };
        }
        self.kept.ask();
        let stopped = self.last_line();
        let fault = match self.kept.wait(CLEAR_LIMIT) {
            Some(ended) if ended.was_killed => {
                Some(format!("did not end within {} s", END_LIMIT.as_secs()))
            }
            Some(ended) if ended.status().success() => None,
            ended => Some(self.with_log(&format!("did not end well ({})", self.ending(ended)))),
        };
        let left = self.group.take().and_then(|group| group.remove().err());
        let left = left.map(|why| format!("its control group could not be removed: {why}"));
        TargetExit { stopped, fault: fault.or(left) }
    }

    /// The last line that is JSON; it comes before the end of the output.
    fn last_line(&mut self) -> Option<Value> {
        let deadline = Instant::now() + END_LIMIT + CLEAR_LIMIT;
        let mut last = None;
        while let Ok(line) =
            self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            last = serde_json::from_slice(line.as_bytes()).ok().or(last);
        }
        last
    }

    fn ending(&self, ended: Option<Ended>) -> String {
        let known = ended.map(|ended| ended.status().to_string());
        known.or_else(|| self.kept.lost()).unwrap_or_else(|| "unknown".to_string())
    }

    /// A sentence with the last line of its log.
    fn with_log(&self, sentence: &str) -> String {
        let log = end_of(&self.log).unwrap_or_default();
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

/// The last bytes of a file.
fn end_of(file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let begin = length.saturating_sub(LOG_END);
    let mut bytes = vec![0; usize::try_from(length - begin).unwrap_or(0)];
    let count = file.read_at(&mut bytes, begin)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// The group of a server that has limits.
fn limited(how: &How<'_>) -> Result<Option<Box<ServerGroup>>, String> {
    if how.limits.is_none() {
        return Ok(None);
    }
    let made = ServerGroup::make(Host::look(Root::default()), how.journal, how.limits)?;
    Ok(made.map(Box::new))
}

/// A program with a slash is relative to the root, not to the current folder.
pub fn program(word: &str, root: &Path) -> PathBuf {
    if word.contains('/') { root.join(word) } else { PathBuf::from(word) }
}

/// Opens a log to write, and to read what was written.
pub fn log_file(path: &Path) -> Result<File, String> {
    // Append mode, so that a reader may cut it.
    let opened = OpenOptions::new().read(true).append(true).create(true).open(path);
    let opened = opened.and_then(|file| file.set_len(0).map(|()| file));
    opened.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// A log without a name: it is gone when every process that has it open has ended.
pub fn unnamed_log() -> Result<File, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = env::temp_dir().join(format!("ceiling-{}-{count}.log", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true).mode(0o600);
    let opened = options.open(&path).and_then(|file| fs::remove_file(&path).map(|()| file));
    opened.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// CPUs as users write them; none means all.
pub fn cpus_of(text: &str) -> Result<Vec<usize>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    model::units::parse_cpus(text)
        .ok_or_else(|| format!("'{text}' is not a list of CPU numbers; for example cpus = \"0\""))
}

/// Why a program could not be started, and what helps.
fn refusal(why: Refused, how: &How<'_>) -> String {
    match why {
        Refused::Cpus => {
            format!("this host has none of the CPUs {}; for example cpus = \"0\"", how.cpus)
        }
        Refused::Other(why) => format!("{why}; make build"),
    }
}

/// Lines of the standard output, read by a thread that ends with it.
fn read_lines(output: Lines) -> Receiver<String> {
    let (sender, lines) = channel();
    if let Some(output) = output {
        thread::spawn(move || pass_on(BufReader::new(output), &sender));
    }
    lines
}

/// Passes on the first line at once, and the last ones when the output ends. Everything is read,
/// whatever its encoding, because a closed pipe would end a target that writes a line for each
/// request; and little of it is kept.
fn pass_on(mut output: impl BufRead, sender: &Sender<String>) {
    // A closed channel changes nothing: the output is still read to its end.
    let send = |line: &[u8]| {
        let _ = sender.send(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
    };
    let (mut tail, mut bytes, mut is_first) = (VecDeque::<Vec<u8>>::new(), 0, true);
    loop {
        let mut line = Vec::new();
        let piece = output.by_ref().take(TAIL_BYTES_MAX as u64).read_until(b'\n', &mut line);
        if !matches!(piece, Ok(1..)) {
            break;
        }
        if std::mem::replace(&mut is_first, false) {
            send(&line);
            continue;
        }
        bytes += line.len();
        tail.push_back(line);
        while tail.len() > TAIL_LINES_MAX || bytes > TAIL_BYTES_MAX {
            bytes -= tail.pop_front().map_or(bytes, |oldest| oldest.len());
        }
    }
    tail.iter().for_each(|line| send(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed_on(output: &[u8]) -> Vec<String> {
        let (sender, lines) = channel();
        pass_on(output, &sender);
        drop(sender);
        lines.iter().collect()
    }

    #[test]
    fn of_many_lines_in_any_encoding_the_first_and_the_last_are_passed_on() {
        let mut output = b"listening\n".to_vec();
        for number in 0..100_000 {
            output.extend_from_slice(b"GET /\xff");
            output.extend_from_slice(format!("{number}\n").as_bytes());
        }
        output.extend_from_slice(b"stopped");
        let lines = passed_on(&output);
        assert_eq!((lines[0].as_str(), lines[TAIL_LINES_MAX].as_str()), ("listening", "stopped"));
        assert_eq!(lines.len(), 1 + TAIL_LINES_MAX);
        assert!(lines[TAIL_LINES_MAX - 1].ends_with("99999"), "{}", lines[TAIL_LINES_MAX - 1]);
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_whole() {
        let mut output = b"listening\n".to_vec();
        output.resize(5 * TAIL_BYTES_MAX, b'x');
        output.extend_from_slice(b"\nstopped\n");
        let lines = passed_on(&output);
        assert_eq!(lines.last().map(String::as_str), Some("stopped"));
        assert!(lines.iter().map(String::len).sum::<usize>() <= TAIL_BYTES_MAX + 100);
        assert!(passed_on(b"").is_empty());
    }
}
