//! The probe's side of servers: those of its own list, started for a client as the list allows.

use super::process::{How, Process};
use super::service::Services;
use super::{Places, filled};
use model::secret;
use model::starting::{StartOrder, TargetExit};
use plan::Targets;
use remote::{Running, Started};
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Bytes of a server's log that are passed on to its client.
const PASSED_BYTES_MAX: u64 = 1 << 20;
/// Bytes that are passed on at once.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes of a log that are kept on the disk; it is cut when it is longer.
const KEPT_BYTES_MAX: u64 = 16 << 20;
/// Characters of a line that are passed on.
const LINE_MAX_CHARS: usize = 2000;

/// Starts servers of a list.
#[derive(Debug)]
pub struct Starter {
    targets: Targets,
    places: Places,
}

impl Starter {
    /// For the servers of this list, whose words are run from the folder `root`. The control groups
    /// that their limits need are known to the journal in that folder.
    pub fn new(targets: Targets, root: PathBuf, journal: PathBuf) -> Self {
        let (scratch, probes) = (env::temp_dir(), BTreeMap::new());
        Self { targets, places: Places { root, scratch, journal, probes } }
    }
}

impl remote::Starter for Starter {
    fn start(&self, order: &StartOrder, stop: &AtomicBool) -> Result<Box<dyn Running>, String> {
        let target = self.targets.target(&order.server)?;
        target.permits(order).map_err(|why| format!("{}: {why}", target.name))?;
        let mut services = Services::new(&self.places);
        let StartOrder { args, env, cpus, limits, .. } = order;
        let mut tell = |_: super::Progress<'_>| {};
        let addresses = services.need(&order.services, cpus, &self.targets, stop, &mut tell)?;
        let args: Vec<String> = args.iter().map(|word| filled(word, &addresses)).collect();
        let log = unnamed().map_err(|error| format!("no log can be kept: {error}"))?;
        let kept = log.try_clone().map_err(|error| format!("no log can be kept: {error}"))?;
        let journal = &self.places.journal;
        let how = How { args: &args, env, cpus, limits, journal, folder: "", stop };
        let process = Process::start(target, &how, &self.places.root, log)?;
        let tail = Tail { log: kept, at: 0, passed: 0, rest: Vec::new() };
        Ok(Box::new(Served { process, tail, services }))
    }
}

/// A file without a name: it is gone when those are that have it open, however they end.
fn unnamed() -> std::io::Result<File> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = env::temp_dir().join(format!("ceiling-{}-{count}.log", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true).mode(0o600);
    let file = options.open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// A server that runs for a client.
struct Served {
    process: Process,
    tail: Tail,
    services: Services,
}

impl Running for Served {
    fn started(&self) -> Started {
        Started {
            name: self.process.name().to_string(),
            words: secret::words(self.process.words()),
            addr: self.process.addr().to_string(),
            pid: self.process.pid(),
        }
    }

    fn said(&mut self) -> Vec<String> {
        self.tail.next()
    }

    fn alive(&mut self) -> Result<(), String> {
        self.process.alive()
    }

    fn end(self: Box<Self>) -> (TargetExit, Vec<String>) {
        let Self { process, mut tail, services } = *self;
        let exit = process.end();
        drop(services);
        (exit, tail.next())
    }
}

/// What a server writes, as it comes.
struct Tail {
    log: File,
    /// Where the next byte is read.
    at: u64,
    passed: u64,
    /// The begin of a line without its end.
    rest: Vec<u8>,
}

impl Tail {
    fn next(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let length = self.log.metadata().map_or(0, |about| about.len());
        if length > KEPT_BYTES_MAX && self.log.set_len(0).is_ok() {
            self.at = 0;
        }
        if self.passed >= PASSED_BYTES_MAX {
            return lines;
        }
        let mut piece = vec![0; PIECE_BYTES];
        let count = self.log.read_at(&mut piece, self.at).unwrap_or(0);
        self.at += count as u64;
        self.passed += count as u64;
        self.rest.extend_from_slice(&piece[..count]);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            lines.push(shown(&line[..end]));
        }
        if self.rest.len() > LINE_MAX_CHARS {
            lines.push(shown(&std::mem::take(&mut self.rest)));
        }
        if self.passed >= PASSED_BYTES_MAX {
            lines.push("what it writes from here on is not passed on by the probe".to_string());
        }
        lines
    }
}

fn shown(line: &[u8]) -> String {
    let line = secret::text(String::from_utf8_lossy(line).trim_end());
    line.chars().take(LINE_MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_passed_on_is_bounded_and_the_log_is_cut() {
        let mut log = unnamed().unwrap();
        let mut tail = Tail { log: log.try_clone().unwrap(), at: 0, passed: 0, rest: Vec::new() };
        assert_eq!(tail.next(), [""; 0]);
        log.write_all(b"one\ntwo").unwrap();
        assert_eq!(tail.next(), ["one"]);
        log.write_all(b" more\n").unwrap();
        assert_eq!(tail.next(), ["two more"]);
        let line = [b"x".repeat(9999), vec![b'\n']].concat();
        for _ in 0..2000 {
            log.write_all(&line).unwrap();
        }
        let mut lines = Vec::new();
        for _ in 0..100 {
            lines.extend(tail.next());
        }
        assert!(lines.iter().all(|line| line.chars().count() <= LINE_MAX_CHARS));
        assert!(lines.last().unwrap().contains("not passed on"), "{}", lines.len());
        assert!(log.metadata().unwrap().len() < KEPT_BYTES_MAX, "it was cut");
        log.write_all(b"three\n").unwrap();
        assert_eq!(tail.next(), [""; 0]);
    }
}
