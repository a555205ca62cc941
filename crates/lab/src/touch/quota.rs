//! The CPU time a server may use.
//!
//! In version 1 of control groups its process tree is moved to a new group below the one it is in,
//! whose quota can be turned, and moved back at the end: every quota above it still holds, and its
//! other limits are in other hierarchies. In version 2 a group with processes has no groups below
//! it, so the limit of its own group is turned, when nobody else is in there.

use super::cpu_max::{self, CpuMax};
use super::journal::{Before, Change};
use super::{mask, told};
use probe::{CpuGroup, Tree, cpu_groups};
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
    /// Moves all that is in the made group back, and removes it.
    pub(super) fn put_back(&self) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let mut why = move_all(&self.made, &self.from).err();
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
}

/// Moves every process of a group to another.
fn move_all(made: &Path, to: &Path) -> io::Result<()> {
    let Ok(listed) = fs::read_to_string(made.join("cgroup.procs")) else { return Ok(()) };
    listed.lines().try_for_each(|pid| join(to, pid))
}

/// Puts a process into a group; one that has ended is nowhere.
fn join(group: &Path, pid: &str) -> io::Result<()> {
    let gone =
        |error: &io::Error| error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
    match fs::write(group.join("cgroup.procs"), pid) {
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
                let made = own.folder.join(format!("ceiling-{}", process::id()));
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
        // Processes that fork while they are moved are in the second list.
        for _ in 0..2 {
            self.tree.refresh().map_err(told)?;
            let mut pids = self.tree.pids().iter();
            pids.try_for_each(|pid| join(made, &pid.to_string())).map_err(at_made)?;
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
            Before::CpuMax(max) => max.set(&format!("{quota_us} {PERIOD_US}")),
            Before::Masks(_) => Ok(()),
        }
    }

    /// Lets it use what it could use before.
    pub(crate) fn lift(&self) -> Result<(), String> {
        match &self.change.before {
            Before::Group(Moved { made, .. }) => set(made, "cpu.cfs_quota_us", "-1"),
            Before::CpuMax(max) => max.put_back(),
            Before::Masks(_) => Ok(()),
        }
    }

    /// The same for good, and where it was before.
    pub(crate) fn revert(self) -> Result<(), String> {
        self.change.revert()
    }
}

fn set(group: &Path, file: &str, value: &str) -> Result<(), String> {
    let path = group.join(file);
    cpu_max::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
}

/// All threads of the tree must be in one group: they are put back into one.
fn one_group(tree: &Tree, own: &CpuGroup) -> Result<(), String> {
    for pid in tree.pids() {
        for tid in mask::threads_of(*pid)? {
            let chain = match cpu_groups(tid) {
                // It has ended meanwhile.
                Err(_) if probe::process_stat_if_there(tid).map_err(told)?.is_none() => continue,
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
