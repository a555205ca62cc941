//! `/proc/PID/task/TID/schedstat` and `stat`: CPU time of threads, and time they waited for one.
//!
//! `schedstat`: nanoseconds on a CPU, nanoseconds runnable and waiting for a CPU, time slices
//! (`fs/proc/base.c`, `proc_pid_schedstat`). `stat`: user and kernel time in clock ticks, their sum
//! scaled by the scheduler to the exact time (`kernel/sched/cputime.c`, `cputime_adjust`), their
//! split sampled. Client: the threads of this process, or of the process tree of a tool that makes
//! the load in its place. Server: those of the whole process tree.
//!
//! Caveats. Soft interrupts that run on top of a thread are charged to it unless interrupt time is
//! accounted separately. A thread that started and ended between two scans, a second apart (client:
//! 200 ms), is not seen; what a thread did after the last read before its end is lost. With more
//! than 256 threads, name, user and kernel time are up to some rounds old; the time on a CPU never
//! is. `schedstat` needs CONFIG_SCHED_INFO and prints zeros where the kernel was told not to count.

use super::{Round, Scope, Source, Whose};
use crate::kernel_file::{KernelFile, is_gone, unreadable};
use crate::process::{self, Stat, parse_stat};
use crate::scan::{self, ParseError};
use crate::tree::Tree;
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, ThreadTimes};
use model::root::Root;
use model::unit::Unit;
use model::units::{NS_PER_MS, NS_PER_S};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One `schedstat` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedstat {
    /// Time on a CPU, nanoseconds.
    pub run_ns: u64,
    /// Time runnable and waiting, nanoseconds.
    pub wait_ns: u64,
    /// Time slices.
    pub slices: u64,
}

/// Parses a `schedstat` file.
pub fn parse(bytes: &[u8]) -> Result<Schedstat, ParseError> {
    let mut words = scan::words(bytes);
    let mut next = || {
        let number = words.next().and_then(scan::number);
        number.ok_or_else(|| ParseError::new("three counts", bytes))
    };
    Ok(Schedstat { run_ns: next()?, wait_ns: next()?, slices: next()? })
}

/// Files of our own threads that stay open, two each.
const OWN_KEPT_FILES: usize = 512;

/// With more threads than this, only a few have their `stat` read in each round, in turn: it takes
/// longer than `schedstat` and has nothing but the name and the sampled split.
const STAT_EVERY_ROUND_MAX: usize = 256;
const STAT_IN_TURN: usize = 32;

/// How often to look for new threads.
const SCAN_NS: u64 = NS_PER_S;
/// How often to look for new threads of the generator, which starts them while watched and may run
/// for seconds only.
const CLIENT_SCAN_NS: u64 = 200 * NS_PER_MS;

/// What the figures are.
pub(super) fn client_declared() -> Declaration {
    declared("client_threads", "/proc/self/task/TID/{schedstat,stat}")
}

/// What the figures are.
pub(super) fn server_declared() -> Declaration {
    declared("server_threads", "/proc/PID/task/TID/{schedstat,stat}")
}

fn declared(name: &str, reads: &str) -> Declaration {
    Declaration::new(name, reads)
        .many()
        .over("pid")
        .over("tid")
        .counter("run_ns", Unit::Ns, "Time on a CPU, all threads.")
        .counter("wait_ns", Unit::Ns, "Time runnable and waiting for a CPU, all threads.")
        .counter("slices", Unit::Count, "Time slices run.")
        .sum("#", Unit::Count, "Threads.")
}

/// Adds threads that are new to a table, with `open` of their folder, and forgets those of
/// processes that left the tree.
pub(super) fn scan<T>(
    root: &Root,
    pids: &[u32],
    threads: &mut BTreeMap<(u32, u32), T>,
    open: impl Fn(PathBuf) -> T,
) -> Result<(), Unreadable> {
    threads.retain(|(pid, _), _| pids.contains(pid));
    for &pid in pids {
        let tasks = root.process(pid, "task");
        let tids = match process::ids(&tasks) {
            Ok(tids) => tids,
            Err(why) if is_gone(&why) => continue,
            Err(why) => return Err(unreadable(&tasks, why)),
        };
        for tid in tids {
            threads.entry((pid, tid)).or_insert_with(|| open(tasks.join(tid.to_string())));
        }
    }
    Ok(())
}

struct Threads {
    whose: Whose,
    /// The tool that makes the load, when this process does not.
    tool: Option<Tree>,
    root: Root,
    threads: BTreeMap<(u32, u32), Files>,
    /// Files that may stay open.
    kept_files: usize,
    /// The round, for taking turns.
    round: usize,
    scan_due_ns: u64,
}

struct Files {
    schedstat: KernelFile,
    stat: KernelFile,
    /// The last content of `stat`.
    last: Option<Stat>,
}

pub(super) fn client(scope: &Scope) -> Option<Box<dyn Source>> {
    let tool = scope.tool_pid.map(|pid| Tree::unseen(&Root::default(), pid));
    let source = || Threads { tool, ..open(Whose::Client, Root::default(), OWN_KEPT_FILES) };
    scope.has_client().then(|| Box::new(source()) as Box<dyn Source>)
}

pub(super) fn server(scope: &Scope) -> Option<Box<dyn Source>> {
    let source = || open(Whose::Server, scope.root.clone(), scope.kept_files);
    scope.server().map(|_| Box::new(source()) as Box<dyn Source>)
}

fn open(whose: Whose, root: Root, kept_files: usize) -> Threads {
    Threads {
        whose,
        tool: None,
        root,
        threads: BTreeMap::new(),
        kept_files,
        round: 0,
        scan_due_ns: 0,
    }
}

impl Source for Threads {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        if round.due_ns >= self.scan_due_ns {
            let own = [std::process::id()];
            let (pids, every_ns) = match (self.whose, &mut self.tool) {
                (Whose::Client, Some(tool)) => {
                    tool.refresh()?;
                    (tool.pids(), CLIENT_SCAN_NS)
                }
                (Whose::Client, None) => (&own[..], CLIENT_SCAN_NS),
                (Whose::Server, _) => (round.server()?.pids(), SCAN_NS),
            };
            scan(&self.root, pids, &mut self.threads, Files::below)?;
            self.scan_due_ns = round.due_ns + every_ns;
        }
        let times = self.read_all()?;
        Ok(match self.whose {
            Whose::Client => Data::ClientThreads(times),
            Whose::Server => Data::ServerThreads(times),
        })
    }
}

impl Threads {
    /// Reads every known thread; one that has ended is forgotten.
    fn read_all(&mut self) -> Result<Vec<ThreadTimes>, Unreadable> {
        let mut times = Vec::with_capacity(self.threads.len());
        let mut ended = Vec::new();
        self.round += 1;
        let is_few = self.threads.len() <= STAT_EVERY_ROUND_MAX;
        let turns = if is_few { 1 } else { self.threads.len() / STAT_IN_TURN };
        let mut left = self.kept_files;
        for (index, (&(pid, tid), files)) in self.threads.iter_mut().enumerate() {
            if index % turns == self.round % turns {
                files.last = None;
            }
            match files.read(pid, tid)? {
                Some(thread) => times.push(thread),
                None => ended.push((pid, tid)),
            }
            left = files.keep(left, turns);
        }
        for thread in ended {
            self.threads.remove(&thread);
        }
        if times.is_empty() {
            return Err(Unreadable { source: self.name(), why: "no thread is left".to_string() });
        }
        // A thread that exists has run, so zeros everywhere are no measurement.
        if times.iter().all(|thread| (thread.run_ns, thread.slices) == (0, 0)) {
            let why = "the kernel does not count: every schedstat is zero".to_string();
            return Err(Unreadable { source: self.name(), why });
        }
        Ok(times)
    }

    fn name(&self) -> String {
        match self.whose {
            Whose::Client => "threads of the generator".to_string(),
            Whose::Server => "threads of the server".to_string(),
        }
    }
}

impl Files {
    fn below(folder: PathBuf) -> Self {
        Self {
            schedstat: KernelFile::one_piece(folder.join("schedstat")),
            stat: KernelFile::one_piece(folder.join("stat")),
            last: None,
        }
    }

    /// Closes what may not stay open, and returns how many more files may. Where `stat` is read in
    /// turns it is not worth a descriptor.
    fn keep(&mut self, left: usize, turns: usize) -> usize {
        if left == 0 {
            self.schedstat.close();
        }
        let left = left.saturating_sub(1);
        if left == 0 || turns > 1 {
            self.stat.close();
            return left;
        }
        left - 1
    }

    /// The times of the thread, or nothing when it has ended.
    fn read(&mut self, pid: u32, tid: u32) -> Result<Option<ThreadTimes>, Unreadable> {
        let Some(times) = self.schedstat.parse_if_there(parse)? else { return Ok(None) };
        if self.last.is_none() {
            self.last = self.stat.parse_if_there(parse_stat)?;
        }
        let Some(stat) = &self.last else { return Ok(None) };
        Ok(Some(ThreadTimes {
            pid,
            tid,
            name: stat.name.clone(),
            run_ns: times.run_ns,
            wait_ns: times.wait_ns,
            slices: times.slices,
            user_ticks: stat.user_ticks,
            system_ticks: stat.system_ticks,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    #[test]
    fn schedstat() {
        let times = parse(&fixture("linux-6.18-vm/thread_schedstat")).unwrap();
        let expected = Schedstat { run_ns: 231_745_902, wait_ns: 18_402_117, slices: 1204 };
        assert_eq!(times, expected);
        for text in ["", "1 2", "1 2 x"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn our_own_threads_have_run() {
        let mut source = open(Whose::Client, Root::default(), 512);
        let reading = source.read(&Round { due_ns: 0, server: None }).unwrap();
        let Data::ClientThreads(threads) = reading else { panic!("{reading:?}") };
        let pid = std::process::id();
        assert!(threads.iter().all(|thread| thread.pid == pid));
        assert!(threads.iter().any(|thread| thread.tid == pid && thread.run_ns > 0));
    }

    #[test]
    fn a_tool_is_read_in_the_place_of_this_process() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let scope = Scope { tool_pid: Some(child.id()), ..Scope::default() };
        let reading = client(&scope).unwrap().read(&Round { due_ns: 0, server: None });
        child.kill().unwrap();
        child.wait().unwrap();
        let Ok(Data::ClientThreads(threads)) = reading else { panic!("{reading:?}") };
        assert!(threads.iter().all(|thread| thread.pid == child.id()), "{threads:?}");
    }
}
