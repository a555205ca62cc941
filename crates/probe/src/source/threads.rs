//! `/proc/PID/task/TID/schedstat` and `stat`: CPU time of threads, and time they waited for one.
//!
//! `schedstat`: nanoseconds on a CPU, nanoseconds runnable and waiting for a CPU, time slices
//! (`fs/proc/base.c`, `proc_pid_schedstat`). `stat`: user and kernel time in clock ticks, their sum
//! scaled by the scheduler to the exact time (`kernel/sched/cputime.c`, `cputime_adjust`), their
//! split sampled. Client: the threads of this process, or of the process tree of a tool that makes
//! the load in its place. Server: those of the whole process tree.
//!
//! Caveats. Soft interrupts that run on top of a thread are charged to it unless interrupt time is
//! accounted separately. A thread that started and ended between two scans, a second or more apart
//! (client: 200 ms), is not seen; what a thread did after the last read before its end is lost.
//! With more than 256 threads, name, user and kernel time are up to some rounds old, and threads
//! that rested between their last two reads are read in turn. All threads of a process are read
//! when its own CPU time, which is exact to a clock tick of 10 ms, grew by more than that of the
//! threads that were read, so that threads that begin to work are seen at once. `schedstat` needs
//! CONFIG_SCHED_INFO and prints zeros where the kernel was told not to count.

use super::{Round, Scope, Source, Whose};
use crate::clock;
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
use std::collections::{BTreeMap, BTreeSet};
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
/// longer than `schedstat` and has nothing but the name and the sampled split. Those that rest have
/// `schedstat` read in turn too.
const EVERY_ROUND_MAX: usize = 256;
const STAT_IN_TURN: usize = 32;
const RESTING_IN_TURN: usize = 128;
/// Share of a process's CPU time that threads which were not read may have used, and the least that
/// its clock can tell.
const UNREAD_MAX: f64 = 0.1;
const UNREAD_MIN_NS: u64 = 2 * TICK_NS;
/// Linux reports clock ticks of 100 a second to programs, whatever it counts in (time(7)).
const TICK_NS: u64 = 10 * NS_PER_MS;

/// How often to look for new threads.
const SCAN_NS: u64 = NS_PER_S;
/// Looking for them may use one part in this many of one CPU.
const SCAN_COST_SHARE: u64 = 400;
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

/// Adds threads that are new to a table, with `open` of their folder, and forgets those that have
/// ended or are of processes that left the tree. Returns how long to rest at least before the next
/// scan.
pub(super) fn scan<T>(
    root: &Root,
    pids: &[u32],
    threads: &mut BTreeMap<(u32, u32), T>,
    open: impl Fn(PathBuf) -> T,
) -> Result<u64, Unreadable> {
    let begin_ns = clock::thread_cpu_ns();
    threads.retain(|(pid, _), _| pids.contains(pid));
    for &pid in pids {
        let tasks = root.process(pid, "task");
        let tids = match process::ids(&tasks) {
            Ok(tids) => tids,
            Err(why) if is_gone(&why) => continue,
            Err(why) => return Err(unreadable(&tasks, why)),
        };
        let left: BTreeSet<u32> = tids.iter().copied().collect();
        threads.retain(|(of, tid), _| *of != pid || left.contains(tid));
        for tid in tids {
            threads.entry((pid, tid)).or_insert_with(|| open(tasks.join(tid.to_string())));
        }
    }
    Ok((clock::thread_cpu_ns() - begin_ns).saturating_mul(SCAN_COST_SHARE))
}

struct Threads {
    whose: Whose,
    /// The tool that makes the load, when this process does not.
    tool: Option<Tree>,
    root: Root,
    threads: BTreeMap<(u32, u32), Files>,
    /// CPU time of each process when its threads were last read, clock ticks; kept while they are
    /// many.
    processes: BTreeMap<u32, u64>,
    /// Files that may stay open.
    kept_files: usize,
    /// The round, for taking turns.
    round: usize,
    scan_due_ns: u64,
}

struct Files {
    schedstat: KernelFile,
    stat: KernelFile,
    /// The last content of `schedstat`, and the round in which it was read.
    times: Option<Schedstat>,
    read_in: usize,
    /// Whether the thread ran between its last two reads.
    works: bool,
    /// The last content of `stat`.
    stat_known: Option<Stat>,
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
        processes: BTreeMap::new(),
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
            let rest_ns = scan(&self.root, pids, &mut self.threads, Files::below)?;
            self.scan_due_ns = round.due_ns + every_ns.max(rest_ns);
        }
        let times = self.read_all()?;
        Ok(match self.whose {
            Whose::Client => Data::ClientThreads(times),
            Whose::Server => Data::ServerThreads(times),
        })
    }
}

impl Threads {
    /// The times of every known thread; one that has ended is forgotten.
    fn read_all(&mut self) -> Result<Vec<ThreadTimes>, Unreadable> {
        self.round += 1;
        let round = self.round;
        let mut ran_ns = BTreeMap::new();
        if self.threads.len() <= EVERY_ROUND_MAX {
            self.read_some(&mut ran_ns, |_, _, _| true)?;
            self.processes.clear();
        } else {
            let turns = self.threads.len() / RESTING_IN_TURN;
            self.read_some(&mut ran_ns, |index, _, files| {
                files.works || files.times.is_none() || index % turns == round % turns
            })?;
            let unread = self.with_unread(&ran_ns);
            if !unread.is_empty() {
                // Threads that are not known yet may have used it.
                self.scan_due_ns = 0;
                self.read_some(&mut ran_ns, |_, pid, files| {
                    files.read_in != round && unread.contains(&pid)
                })?;
            }
        }
        let known = self.threads.iter().filter_map(|(&(pid, tid), files)| files.known(pid, tid));
        let times: Vec<_> = known.collect();
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

    /// Reads the threads that are chosen by their place, process and files, and adds what those of
    /// each process ran since they were last read.
    fn read_some(
        &mut self,
        ran_ns: &mut BTreeMap<u32, u64>,
        is_chosen: impl Fn(usize, u32, &Files) -> bool,
    ) -> Result<(), Unreadable> {
        let is_few = self.threads.len() <= EVERY_ROUND_MAX;
        let turns = if is_few { 1 } else { self.threads.len() / STAT_IN_TURN };
        let mut ended = Vec::new();
        let mut left = self.kept_files;
        for (index, (&(pid, tid), files)) in self.threads.iter_mut().enumerate() {
            if is_chosen(index, pid, files) {
                if index % turns == self.round % turns {
                    files.stat_known = None;
                }
                match files.read(self.round)? {
                    Some(ran) => *ran_ns.entry(pid).or_default() += ran,
                    None => ended.push((pid, tid)),
                }
            }
            left = files.keep(left, turns);
        }
        for thread in ended {
            self.threads.remove(&thread);
        }
        Ok(())
    }

    /// The processes that used more CPU time since the last round than those of their threads that
    /// were read.
    fn with_unread(&mut self, ran_ns: &BTreeMap<u32, u64>) -> BTreeSet<u32> {
        let pids: BTreeSet<u32> = self.threads.keys().map(|(pid, _)| *pid).collect();
        let mut unread = BTreeSet::new();
        let before = std::mem::take(&mut self.processes);
        for pid in pids {
            let Ok(stat) = process::stat_on(&self.root, pid) else { continue };
            let ticks = stat.user_ticks + stat.system_ticks;
            let used_ns = before.get(&pid).map_or(0, |was| ticks.saturating_sub(*was) * TICK_NS);
            let missing_ns = used_ns.saturating_sub(ran_ns.get(&pid).copied().unwrap_or(0));
            if missing_ns > UNREAD_MIN_NS && missing_ns as f64 > UNREAD_MAX * used_ns as f64 {
                unread.insert(pid);
            }
            self.processes.insert(pid, ticks);
        }
        unread
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
            times: None,
            read_in: 0,
            works: false,
            stat_known: None,
        }
    }

    /// Closes what may not stay open, and returns how many more files may. Where `stat` is read in
    /// turns it is not worth a descriptor, and a thread that rests is worth none.
    fn keep(&mut self, left: usize, turns: usize) -> usize {
        let is_resting = turns > 1 && !self.works;
        if left == 0 || is_resting {
            self.schedstat.close();
        }
        if is_resting {
            self.stat.close();
            return left;
        }
        let left = left.saturating_sub(1);
        if left == 0 || turns > 1 {
            self.stat.close();
            return left;
        }
        left - 1
    }

    /// Reads the times, and returns how long the thread ran since they were last read; nothing when
    /// it has ended.
    fn read(&mut self, round: usize) -> Result<Option<u64>, Unreadable> {
        let Some(now) = self.schedstat.parse_if_there(parse)? else { return Ok(None) };
        if self.stat_known.is_none() {
            self.stat_known = self.stat.parse_if_there(parse_stat)?;
        }
        if self.stat_known.is_none() {
            return Ok(None);
        }
        let ran_ns = self.times.map_or(0, |was| now.run_ns.saturating_sub(was.run_ns));
        (self.times, self.read_in, self.works) = (Some(now), round, ran_ns > 0);
        Ok(Some(ran_ns))
    }

    /// What was last read of the thread.
    fn known(&self, pid: u32, tid: u32) -> Option<ThreadTimes> {
        let (times, stat) = (self.times?, self.stat_known.as_ref()?);
        Some(ThreadTimes {
            pid,
            tid,
            name: stat.name.clone(),
            run_ns: times.run_ns,
            wait_ns: times.wait_ns,
            slices: times.slices,
            user_ticks: stat.user_ticks,
            system_ticks: stat.system_ticks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, fixture};

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

    /// A process of 400 threads, as files.
    struct Many(Folder);

    impl Many {
        fn write(&self, name: &str, text: &str) {
            self.0.write(&format!("proc/7/{name}"), text);
        }

        /// The thread ran for so long.
        fn ran(&self, tid: u32, ms: u64) {
            self.write(
                &format!("task/{tid}/schedstat"),
                &format!(
                    "{} 0 1
",
                    ms * NS_PER_MS
                ),
            );
        }

        /// The process used so many ticks.
        fn used(&self, ticks: u64) {
            let zeros = "0 ".repeat(40);
            self.write(
                "stat",
                &format!(
                    "7 (many) S 1 7 7 0 -1 0 0 0 0 0 {ticks} {zeros}
"
                ),
            );
        }
    }

    #[test]
    fn threads_that_begin_to_work_among_thousands_are_seen_at_once() {
        let many = Many(Folder::new("threads"));
        many.used(100);
        for tid in 7..407 {
            many.ran(tid, 10);
            let zeros = "0 ".repeat(40);
            many.write(
                &format!("task/{tid}/stat"),
                &format!(
                    "{tid} (many) S 1 7 7 {zeros}
"
                ),
            );
        }
        let mut threads = open(Whose::Server, Root::below(many.0.path()), 32);
        scan(&threads.root.clone(), &[7], &mut threads.threads, Files::below).unwrap();
        let mut run_ms = |ticks, tid: u32| {
            many.used(ticks);
            let times = threads.read_all().unwrap();
            assert_eq!(times.len(), 400);
            times.iter().find(|thread| thread.tid == tid).unwrap().run_ns / NS_PER_MS
        };
        assert_eq!(run_ms(100, 8), 10);
        many.ran(8, 40);
        assert_eq!(run_ms(103, 8), 40, "3 ticks, and no thread that was read has used any");
        many.ran(8, 60);
        assert_eq!(run_ms(103, 8), 60, "it works, so it is read");
        // The last third of the threads is not due in the next round.
        many.ran(406, 20);
        assert_eq!(run_ms(104, 406), 10, "1 tick is what the clock can be wrong by");
        let turns: Vec<_> = (0..3).map(|_| run_ms(104, 406)).collect();
        assert!(turns.contains(&20), "in its turn: {turns:?}");
        std::fs::remove_dir_all(many.0.path().join("proc/7/task/9")).unwrap();
        scan(&threads.root.clone(), &[7], &mut threads.threads, Files::below).unwrap();
        assert!(!threads.threads.contains_key(&(7, 9)), "it has ended");
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
