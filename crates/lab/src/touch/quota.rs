//! The CPU time a server may use: its process tree is moved to a control group of its own, whose
//! quota can be turned, and moved back at the end.
//!
//! In version 1 the new group is below the one the server is in, so that every quota above it
//! still holds. In version 2 a group with processes has no groups below it, so the new one stands
//! beside it, with the same quota to begin with.

use super::journal::{Before, Change};
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

/// A server's tree in a group of its own, until this is dropped.
#[derive(Debug)]
pub(crate) struct ServerQuota {
    change: Change,
    group: Quota,
}

/// The group and the files its quota is set by.
#[derive(Debug)]
struct Quota {
    folder: PathBuf,
    version: u8,
    /// What `cpu.max` says where no experiment limits; version 2 only.
    base: String,
}

impl ServerQuota {
    /// Moves the tree of a process to a new group without a limit of its own.
    pub(crate) fn prepare(pid: u32) -> Result<Self, String> {
        let mut tree = Tree::of(pid).map_err(|error| format!("{}: {}", error.source, error.why))?;
        let chain = cpu_groups(pid).map_err(|error| format!("{}: {}", error.source, error.why))?;
        let own = chain.first().ok_or("the server is in no control group with CPU limits")?;
        one_group(&tree, own)?;
        let name = format!("ceiling-{}", process::id());
        let above = match own.version {
            1 => own,
            _ => chain.get(1).unwrap_or(own),
        };
        let made = above.folder.join(name);
        let moved = Moved { from: own.folder.clone(), made: made.clone() };
        let change = Change::begin(Before::Group(moved))?;
        let told = |error: io::Error| format!("{}: {error}", made.display());
        fs::create_dir(&made).map_err(told)?;
        let base = fs::read_to_string(own.folder.join("cpu.max"));
        let base = base.unwrap_or_else(|_| format!("max {PERIOD_US}"));
        let group = Quota { folder: made.clone(), version: own.version, base };
        // A group without the controller has no such file: that is known before anybody moves.
        group.lift()?;
        // Processes that fork while they are moved are in the second list.
        for _ in 0..2 {
            tree.refresh().map_err(|error| format!("{}: {}", error.source, error.why))?;
            tree.pids().iter().try_for_each(|pid| join(&made, &pid.to_string())).map_err(told)?;
        }
        Ok(Self { change, group })
    }

    /// Lets the tree use so many CPUs' worth of time.
    pub(crate) fn limit(&self, cpus: f64) -> Result<(), String> {
        self.group.limit(cpus)
    }

    /// Lets it use what it could use before.
    pub(crate) fn lift(&self) -> Result<(), String> {
        self.group.lift()
    }

    /// Moves the tree back.
    pub(crate) fn revert(self) -> Result<(), String> {
        self.change.revert()
    }
}

impl Quota {
    fn limit(&self, cpus: f64) -> Result<(), String> {
        let quota_us = ((cpus * PERIOD_US as f64).round() as u64).max(QUOTA_MIN_US);
        match self.version {
            1 => {
                self.set("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                self.set("cpu.cfs_quota_us", &quota_us.to_string())
            }
            _ => self.set("cpu.max", &format!("{quota_us} {PERIOD_US}")),
        }
    }

    fn lift(&self) -> Result<(), String> {
        match self.version {
            1 => self.set("cpu.cfs_quota_us", "-1"),
            _ => self.set("cpu.max", &self.base),
        }
    }

    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        // Opened as it is: a file that the kernel has not made is not one to make.
        let opened = fs::OpenOptions::new().write(true).open(&path);
        opened
            .and_then(|mut open| io::Write::write_all(&mut open, value.as_bytes()))
            .map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// All threads of the tree must be in one group: they are put back into one.
fn one_group(tree: &Tree, own: &CpuGroup) -> Result<(), String> {
    for pid in tree.pids() {
        let group = cpu_groups(*pid).ok().and_then(|chain| chain.into_iter().next());
        if group.is_some_and(|group| group.folder != own.folder) {
            return Err(format!(
                "the server's processes are in several control groups: {pid} is not in {}",
                own.path
            ));
        }
    }
    Ok(())
}
