//! The probe's side of servers: those on its own list, started for a client as the list allows.

use crate::hooks::{Places, Progress};
use crate::process::{How, Process, unnamed_log};
use crate::service::{Owner, Services, filled};
use model::secret;
use model::starting::{StartOrder, TargetExit};
use plan::Targets;
use remote::{Running, Started};
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Bytes of a server's log that are passed on to its client.
const PASSED_BYTES_MAX: u64 = 1 << 20;
/// Bytes that are passed on at once.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes of a log that are kept on disk; a longer log is cut.
const KEPT_BYTES_MAX: u64 = 16 << 20;
/// Characters of a line that are passed on.
const LINE_MAX_CHARS: usize = 2000;

/// Starts servers of a list.
#[derive(Debug)]
pub struct Starter {
    targets: Targets,
    places: Places,
    /// The limit of a server that is started here by hand: a probe raises its own.
    open_files: Option<u64>,
}

impl Starter {
    /// For the servers of this list, whose commands are run from the folder `root`. The journal in
    /// the folder `journal` records the control groups that their limits need. The servers get the
    /// limit of open files that this process has now.
    pub fn new(targets: Targets, root: PathBuf, journal: PathBuf) -> Self {
        let (scratch, probes) = (env::temp_dir(), BTreeMap::new());
        let places = Places { root, scratch, journal, probes };
        Self { targets, places, open_files: getrlimit(Resource::Nofile).current }
    }
}

impl remote::Starter for Starter {
    fn start(&self, order: &StartOrder, stop: &AtomicBool) -> Result<Box<dyn Running>, String> {
        let target = self.targets.target(&order.server)?;
        target.permits(order).map_err(|why| format!("{}: {why}", target.name))?;
        let mut services =
            Services::new(&self.places, Owner::Client { open_files: self.open_files });
        let StartOrder { args, env, cpus, limits, .. } = order;
        let mut tell = |_: Progress<'_>| {};
        let addresses = services.need(&order.services, cpus, &self.targets, stop, &mut tell)?;
        let args: Vec<String> = args.iter().map(|word| filled(word, &addresses)).collect();
        let log = unnamed_log()?;
        let kept = log.try_clone().map_err(|error| format!("cannot keep a log: {error}"))?;
        let journal = &self.places.journal;
        let (args, open_files, folder) = (&args[..], self.open_files, "");
        let how = How { args, env, cpus, limits, journal, open_files, folder, stop };
        let process = Process::start(target, &how, &self.places.root, log)?;
        let tail = Tail { log: kept, at: 0, passed: 0, rest: Vec::new() };
        Ok(Box::new(Served { process, tail, services, needs: order.services.clone() }))
    }
}

/// A server that runs for a client.
struct Served {
    process: Process,
    tail: Tail,
    services: Services,
    /// The names of its services.
    needs: Vec<String>,
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

    fn new_lines(&mut self) -> Vec<String> {
        self.tail.next()
    }

    fn alive(&mut self) -> Result<(), String> {
        self.process.alive()?;
        self.services.alive(&self.needs)
    }

    fn end(self: Box<Self>) -> (TargetExit, Vec<String>) {
        let Self { process, mut tail, mut services, needs } = *self;
        // A server whose service died may die of that.
        let lost = services.alive(&needs).err();
        let exit = process.end();
        drop(services);
        (TargetExit { fault: lost.or(exit.fault), ..exit }, tail.next())
    }
}

/// What a server writes, as it arrives.
struct Tail {
    log: File,
    /// Where the next byte is read.
    at: u64,
    passed: u64,
    /// The start of a line that has no end yet.
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
        let mut log = unnamed_log().unwrap();
        let mut tail = Tail { log: log.try_clone().unwrap(), at: 0, passed: 0, rest: Vec::new() };
        assert_eq!(tail.next(), [""; 0]);
        log.write_all(b"one\ntwo").unwrap();
        assert_eq!(tail.next(), ["one"]);
        log.write_all(b" more\n").unwrap();
        assert_eq!(tail.next(), ["two more"]);
        let line = [b"x".repeat(9999), vec![b'\n']].concat();
        let mut lines = Vec::new();
        for _ in 0..2000 {
            log.write_all(&line).unwrap();
            lines.extend(tail.next());
        }
        assert!(lines.iter().all(|line| line.chars().count() <= LINE_MAX_CHARS));
        assert!(lines.last().unwrap().contains("not passed on"), "{}", lines.len());
        assert!(lines.len() > 100);
        assert!(log.metadata().unwrap().len() < KEPT_BYTES_MAX, "it was cut");
        log.write_all(b"three\n").unwrap();
        assert_eq!(tail.next(), [""; 0]);
    }
}
