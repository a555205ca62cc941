//! The CPUs a server's threads may run on.

use super::journal::{Before, Change};
use probe::{Tree, ids};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// The CPUs that the threads of a tree were allowed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Masks {
    /// The process at the top.
    root: u32,
    /// Start of that process: numbers are used again.
    root_started_ticks: u64,
    /// CPUs by thread.
    cpus: BTreeMap<u32, Vec<usize>>,
}

impl Masks {
    fn of(root: u32) -> Result<Self, String> {
        let stat = probe::process_stat(root);
        let stat = stat.map_err(|error| format!("{}: {}", error.source, error.why))?;
        let mut cpus = BTreeMap::new();
        for tid in threads(root)? {
            if let Some(set) = if_there(get(tid))? {
                cpus.insert(tid, set);
            }
        }
        Ok(Self { root, root_started_ticks: stat.started_ticks, cpus })
    }

    /// Gives every thread of the tree its CPUs; one that was started since gets those of the root.
    pub(super) fn put_back(&self) -> Result<(), String> {
        let is_same = probe::process_stat(self.root)
            .is_ok_and(|stat| stat.started_ticks == self.root_started_ticks);
        let root = self.cpus.get(&self.root);
        if !is_same {
            return Ok(());
        }
        for tid in threads(self.root)? {
            if let Some(cpus) = self.cpus.get(&tid).or(root) {
                if_there(set(tid, cpus))?;
            }
        }
        Ok(())
    }
}

/// A server whose threads may be kept on fewer CPUs, until this is dropped.
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
        for (tid, cpus) in &masks.cpus {
            let fewer: Vec<usize> =
                cpus.iter().copied().filter(|cpu| self.cpus.contains(cpu)).collect();
            if !fewer.is_empty() {
                if_there(set(*tid, &fewer))?;
            }
        }
        Ok(())
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
fn threads(root: u32) -> Result<Vec<u32>, String> {
    let tree = Tree::of(root).map_err(|error| format!("{}: {}", error.source, error.why))?;
    let of = |pid: &u32| ids(&PathBuf::from(format!("/proc/{pid}/task"))).unwrap_or_default();
    Ok(tree.pids().iter().flat_map(of).collect())
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
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            Ok(None)
        }
        Err(error) => Err(format!("the CPUs of a thread of the server: {error}")),
    }
}
