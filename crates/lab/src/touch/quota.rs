//! The CPU time a server may use.
//!
//! In version 1 of control groups its process tree is moved to a new group below the one it is in,
//! whose quota can be turned, and moved back at the end: every quota above it still holds, and its
//! other limits are in other hierarchies. In version 2 a group with processes has no groups below
//! it, so the limit of its own group is turned, when nobody else is in there.

use super::cgroup::{Ground, Group};
use super::cpu_max::CpuMax;
use super::journal::{self, Before, Change};
use super::{mask, told};
use host::Tree;
use host::cgroup::{Group as CpuGroup, cpu_groups};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

/// Length of a quota's period, microseconds.
const PERIOD_US: u64 = 100_000;
/// Least quota the kernel takes, microseconds.
const QUOTA_MIN_US: u64 = 1_000;
/// The list of a group's processes.
const PROCESSES: &str = "cgroup.procs";
/// What the name of a group that was made begins with.
const MADE: &str = "ceiling-";
/// A group is empty a moment after its last process has left.
const EMPTY_WITHIN: Duration = Duration::from_secs(2);

/// Where a process tree was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Moved {
    /// The group it was in.
    from: PathBuf,
    /// The group that was made for it.
    made: PathBuf,
}

impl Moved {
    /// Whether an entry of a journal can be one of ours: a group that was made below the other.
    pub(super) fn check(&self) -> Result<(), String> {
        journal::check_path(&self.from)?;
        journal::check_path(&self.made)?;
        let name = self.made.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_ours = name.strip_prefix(MADE).is_some_and(|pid| pid.parse::<u32>().is_ok());
        if is_ours && self.made.parent() == Some(&self.from) {
            return Ok(());
        }
        let (made, from) = (self.made.display(), self.from.display());
        Err(format!("{made} is no group that ceiling makes below {from}"))
    }

    /// Moves all that is in the made group back, and removes it.
    pub(super) fn put_back(&self, ground: Ground) -> Result<(), String> {
        for folder in [&self.from, &self.made] {
            match Group::open(folder, ground) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => drop(opened.map_err(|why| format!("{}: {why}", folder.display()))?),
            }
        }
        let begin = Instant::now();
        loop {
            let mut why = self.move_all(ground).err();
            match fs::remove_dir(&self.made) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => why = why.or(Some(error)),
            }
            if begin.elapsed() > EMPTY_WITHIN {
                let why = why.map_or_else(String::new, |why| why.to_string());
                let (made, from) = (self.made.display(), self.from.display());
                return Err(format!(
                    "{made}: {why}; move the processes in its cgroup.procs to that of {from}, \
                     then remove it"
                ));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Moves every process of the made group back.
    fn move_all(&self, ground: Ground) -> io::Result<()> {
        let made = match Group::open(&self.made, ground) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            made => made?,
        };
        let listed = made.read(PROCESSES)?;
        let from = Group::open(&self.from, ground)?;
        listed.lines().try_for_each(|pid| join(&from, pid))
    }
}

/// Puts a process into a group; one that has ended is nowhere.
fn join(group: &Group, pid: &str) -> io::Result<()> {
    let gone =
        |error: &io::Error| error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
    let pid: u32 = pid.parse().map_err(|_| io::Error::other(format!("'{pid}' is no process")))?;
    match group.write(PROCESSES, &pid.to_string()) {
        Err(error) if gone(&error) => Ok(()),
        written => written,
    }
}

/// A server whose CPU time may be limited, until this is reverted.
#[derive(Debug)]
pub(crate) struct ServerQuota {
    change: Change,
    tree: Tree,
}

impl ServerQuota {
    /// Remembers what limits the tree of a process; nothing changes yet.
    pub(crate) fn prepare(pid: u32) -> Result<Self, String> {
        let mut tree = Tree::of(pid).map_err(told)?;
        let chain = cpu_groups(pid).map_err(told)?;
        let own = chain.first().ok_or("the server is in no control group with CPU limits")?;
        let before = match own.version {
            1 => {
                one_group(&tree, own)?;
                let made = own.folder.join(format!("{MADE}{}", process::id()));
                Before::Group(Moved { from: own.folder.clone(), made })
            }
            _ => Before::CpuMax(CpuMax::of(own, &mut tree)?),
        };
        Ok(Self { change: Change::begin(before)?, tree })
    }

    /// Moves the tree to where it can be limited, if it has to be; no limit changes.
    pub(crate) fn enter(&mut self) -> Result<(), String> {
        let Before::Group(Moved { made, .. }) = &self.change.before else { return Ok(()) };
        let at_made = |error: io::Error| format!("{}: {error}", made.display());
        fs::create_dir(made).map_err(at_made)?;
        // A group without the controller has no such file: that is known before anybody moves.
        self.lift()?;
        let group = Group::open(made, Ground::Kernel).map_err(at_made)?;
        // Processes that fork while they are moved are in the second list.
        for _ in 0..2 {
            self.tree.refresh().map_err(told)?;
            let mut pids = self.tree.pids().iter();
            pids.try_for_each(|pid| join(&group, &pid.to_string())).map_err(at_made)?;
        }
        Ok(())
    }

    /// Lets the tree use so many CPUs' worth of time.
    pub(crate) fn limit(&self, cpus: f64) -> Result<(), String> {
        let quota_us = ((cpus * PERIOD_US as f64).round() as u64).max(QUOTA_MIN_US);
        match &self.change.before {
            Before::Group(Moved { made, .. }) => {
                set(made, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
                set(made, "cpu.cfs_quota_us", &quota_us.to_string())
            }
            Before::CpuMax(max) => max.set(&format!("{quota_us} {PERIOD_US}"), Ground::Kernel),
            Before::Masks(_) => Ok(()),
        }
    }

    /// Lets it use what it could use before.
    pub(crate) fn lift(&self) -> Result<(), String> {
        match &self.change.before {
            Before::Group(Moved { made, .. }) => set(made, "cpu.cfs_quota_us", "-1"),
            Before::CpuMax(max) => max.put_back(Ground::Kernel),
            Before::Masks(_) => Ok(()),
        }
    }

    /// The same for good, and where it was before.
    pub(crate) fn revert(self) -> Result<(), String> {
        self.change.revert()
    }
}

fn set(group: &Path, file: &str, value: &str) -> Result<(), String> {
    let written = Group::open(group, Ground::Kernel).and_then(|group| group.write(file, value));
    written.map_err(|error| format!("{}: {error}", group.join(file).display()))
}

/// All threads of the tree must be in one group: they are put back into one.
fn one_group(tree: &Tree, own: &CpuGroup) -> Result<(), String> {
    for pid in tree.pids() {
        for tid in mask::threads_of(*pid)? {
            let chain = match cpu_groups(tid) {
                // It has ended meanwhile.
                Err(_) if host::process::stat_if_there(tid).map_err(told)?.is_none() => continue,
                chain => chain.map_err(told)?,
            };
            if chain.first().is_none_or(|group| group.folder != own.folder) {
                return Err(format!(
                    "the server's threads are in several control groups: {tid} of process {pid} \
                     is not in {}",
                    own.path
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    #[ignore = "it makes a control group, as root: make test-host"]
    fn a_thread_in_a_group_of_its_own_is_noticed() {
        let us = process::id();
        let chain = cpu_groups(us).unwrap_or_default();
        let Some(own) = chain.first().filter(|own| own.version == 1) else {
            println!("skipped: version 1 of control groups is not here");
            return;
        };
        let other = own.folder.join(format!("ceiling-test-{us}"));
        fs::create_dir(&other).expect("only root makes control groups");
        let (sender, receiver) = channel::<()>();
        let (tell, told) = channel();
        let thread = thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let _ = receiver.recv();
        });
        let tid = told.recv().unwrap();
        let tree = Tree::of(us).unwrap();
        let before = one_group(&tree, own);
        let move_to = |group: &Path| fs::write(group.join("tasks"), tid.to_string());
        let moved = move_to(&other);
        let after = one_group(&tree, own);
        let back = move_to(&own.folder);
        drop(sender);
        thread.join().unwrap();
        fs::remove_dir(&other).unwrap();
        assert_eq!((before, moved.is_ok(), back.is_ok()), (Ok(()), true, true));
        assert!(after.unwrap_err().contains(&format!("{tid} of process {us}")));
    }
}
