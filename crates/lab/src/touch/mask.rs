//! The CPUs a server's threads may run on.

use super::journal::{Before, Change};
use super::told;
use host::Tree;
use host::process::ids;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// How often threads are looked for that were started meanwhile by one whose turn had not come. A
/// server that starts threads all the time is never looked through to the end.
const LOOKS: u32 = 10;

/// The CPUs that the threads of a tree were allowed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Masks {
    /// The process at the top.
    root: u32,
    /// Start of that process: numbers are used again.
    root_started_ticks: u64,
    /// By thread.
    threads: BTreeMap<u32, Mask>,
}

/// The CPUs that one thread was allowed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mask {
    /// Start of the thread: numbers are used again.
    started_ticks: u64,
    cpus: Vec<usize>,
}

impl Masks {
    fn of(root: u32) -> Result<Self, String> {
        let root_started_ticks = host::process::stat(root).map_err(told)?.started_ticks;
        let mut masks = BTreeMap::new();
        for tid in threads(root)? {
            let started_ticks = started(tid)?;
            if let (Some(started_ticks), Some(cpus)) = (started_ticks, if_there(get(tid))?) {
                masks.insert(tid, Mask { started_ticks, cpus });
            }
        }
        Ok(Self { root, root_started_ticks, threads: masks })
    }

    /// Gives every thread its CPUs; one that was started since gets those of the root.
    pub(super) fn put_back(&self) -> Result<(), String> {
        self.give(<[usize]>::to_vec)
    }

    /// Keeps every thread on fewer CPUs; one that may run on none of them stays where it is.
    fn narrow(&self, to: &BTreeSet<usize>) -> Result<(), String> {
        self.give(|cpus| cpus.iter().copied().filter(|cpu| to.contains(cpu)).collect())
    }

    /// Gives threads a part of the CPUs they had: those that were there before, also when the root
    /// has ended, and those of the tree that were started since, who are taken to have had those
    /// of the root. Goes on past what fails, and tells the first failure.
    fn give(&self, part: impl Fn(&[usize]) -> Vec<usize>) -> Result<(), String> {
        let give = |tid: u32, cpus: &[usize]| match part(cpus) {
            cpus if cpus.is_empty() => Ok(()),
            cpus => if_there(set(tid, &cpus)).map(|_| ()),
        };
        let (mut first, mut done) = (Ok(()), BTreeSet::new());
        for (tid, mask) in &self.threads {
            let given = started(*tid).and_then(|started_ticks| {
                if started_ticks != Some(mask.started_ticks) {
                    return Ok(());
                }
                done.insert(*tid);
                give(*tid, &mask.cpus)
            });
            first = first.and(given);
        }
        let Some(of_root) = self.threads.get(&self.root) else { return first };
        for _ in 0..LOOKS {
            let new = match self.threads_now() {
                Ok(mut tids) => {
                    tids.retain(|tid| done.insert(*tid));
                    tids
                }
                Err(why) => return first.and(Err(why)),
            };
            if new.is_empty() {
                break;
            }
            for tid in new {
                first = first.and(give(tid, &of_root.cpus));
            }
        }
        first
    }

    /// The threads of the tree, as long as its root is there.
    fn threads_now(&self) -> Result<Vec<u32>, String> {
        if !self.has_root()? {
            return Ok(Vec::new());
        }
        match threads(self.root) {
            // It has ended in between.
            Err(_) if !self.has_root()? => Ok(Vec::new()),
            threads => threads,
        }
    }

    fn has_root(&self) -> Result<bool, String> {
        let stat = host::process::stat_if_there(self.root).map_err(told)?;
        let is_same = |stat: host::process::Stat| {
            stat.started_ticks == self.root_started_ticks && !stat.has_ended()
        };
        Ok(stat.is_some_and(is_same))
    }
}

/// A server whose threads may be kept on fewer CPUs, until this is reverted.
#[derive(Debug)]
pub(crate) struct ServerMask {
    change: Change,
    cpus: BTreeSet<usize>,
}

impl ServerMask {
    /// Remembers where the threads of a process tree may run; nothing changes yet.
    pub(crate) fn prepare(pid: u32, cpus: &[u32]) -> Result<Self, String> {
        let cpus = cpus.iter().map(|cpu| *cpu as usize).collect();
        let change = Change::begin(Before::Masks(Masks::of(pid)?))?;
        Ok(Self { change, cpus })
    }

    /// Keeps every thread on the fewer CPUs; one that may run on none of them stays where it is.
    pub(crate) fn narrow(&self) -> Result<(), String> {
        let Before::Masks(masks) = &self.change.before else { return Ok(()) };
        masks.narrow(&self.cpus)
    }

    /// Lets them run where they could before.
    pub(crate) fn widen(&self) -> Result<(), String> {
        let Before::Masks(masks) = &self.change.before else { return Ok(()) };
        masks.put_back()
    }

    /// The same, for good.
    pub(crate) fn revert(self) -> Result<(), String> {
        self.change.revert()
    }
}

/// All threads of a tree.
pub(super) fn threads(root: u32) -> Result<Vec<u32>, String> {
    let tree = Tree::of(root).map_err(told)?;
    let mut threads = Vec::new();
    for pid in tree.pids() {
        threads.extend(threads_of(*pid)?);
    }
    Ok(threads)
}

/// The threads of a process; none of one that has ended.
pub(super) fn threads_of(pid: u32) -> Result<Vec<u32>, String> {
    let tasks = PathBuf::from(format!("/proc/{pid}/task"));
    match ids(&tasks) {
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        listed => listed.map_err(|error| format!("{}: {error}", tasks.display())),
    }
}

/// When a thread was started; nothing when it has ended.
fn started(tid: u32) -> Result<Option<u64>, String> {
    let stat = host::process::stat_if_there(tid).map_err(told)?;
    Ok(stat.map(|stat| stat.started_ticks))
}

fn is_gone(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::NOENT, Errno::SRCH].iter().any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
}

fn get(tid: u32) -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(Some(thread(tid)?))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

fn set(tid: u32, cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
    Ok(sched_setaffinity(Some(thread(tid)?), &set)?)
}

/// Never the calling thread, which is what no number means to the kernel.
fn thread(tid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(tid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::from(rustix::io::Errno::SRCH))
}

/// Nothing for a thread that has ended.
fn if_there<T>(done: io::Result<T>) -> Result<Option<T>, String> {
    match done {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(format!("the CPUs of a thread of the server: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Shell;
    use super::*;
    use std::io::Write;

    /// The CPUs of this process, when they are enough to take some away.
    fn cpus() -> Option<Vec<usize>> {
        let cpus = get(std::process::id()).unwrap();
        if cpus.len() < 2 {
            println!("skipped: one CPU is not enough to take one away");
            return None;
        }
        Some(cpus)
    }

    #[test]
    fn children_are_given_their_cpus_back_after_the_root_has_ended() {
        let Some(cpus) = cpus() else { return };
        let mut shell = Shell::run("sleep 60 & wait");
        let child = shell.sleeper();
        let masks = Masks::of(shell.pid()).unwrap();
        masks.narrow(&BTreeSet::from([cpus[0]])).unwrap();
        assert_eq!(get(child).unwrap(), cpus[..1]);
        shell.0.kill().unwrap();
        shell.0.wait().unwrap();
        masks.put_back().unwrap();
        assert_eq!(get(child).unwrap(), cpus);
    }

    #[test]
    fn what_was_started_since_is_narrowed_and_widened_too() {
        let Some(cpus) = cpus() else { return };
        let mut shell = Shell::run("read line; sleep 60 & wait");
        let masks = Masks::of(shell.pid()).unwrap();
        shell.0.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let child = shell.sleeper();
        assert!(!masks.threads.contains_key(&child));
        masks.narrow(&BTreeSet::from([cpus[0]])).unwrap();
        assert_eq!(get(child).unwrap(), cpus[..1]);
        masks.put_back().unwrap();
        assert_eq!((get(child).unwrap(), get(shell.pid()).unwrap()), (cpus.clone(), cpus));
    }

    #[test]
    fn a_failure_at_one_thread_keeps_no_other_from_its_cpus() {
        let Some(cpus) = cpus() else { return };
        let shell = Shell::run("sleep 60 & wait");
        let child = shell.sleeper();
        let mut masks = Masks::of(shell.pid()).unwrap();
        masks.narrow(&BTreeSet::from([cpus[0]])).unwrap();
        // CPUs that this host does not have are refused. The root has the lower number of the two.
        let first = *masks.threads.keys().next().unwrap();
        masks.threads.get_mut(&first).unwrap().cpus = vec![CpuSet::MAX_CPU - 1];
        assert!(masks.put_back().is_err());
        let other = if first == child { shell.pid() } else { child };
        assert_eq!(get(other).unwrap(), cpus);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_thread() {
        let Some(cpus) = cpus() else { return };
        let shell = Shell::run("sleep 60 & wait");
        let mut masks = Masks::of(shell.pid()).unwrap();
        let mask = masks.threads.get_mut(&shell.pid()).unwrap();
        (mask.started_ticks, mask.cpus) = (mask.started_ticks + 1, vec![cpus[0]]);
        masks.root_started_ticks += 1;
        masks.put_back().unwrap();
        assert_eq!(get(shell.pid()).unwrap(), cpus);
    }
}
