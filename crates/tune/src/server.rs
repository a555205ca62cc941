//! What an experiment takes from a server: CPU time, by a limit of its control group, or CPUs, by
//! the masks of its threads.

use crate::cpus::CpuSet;
use crate::held::{Held, Turn};
use crate::host::Host;
use crate::journal::Journal;
use crate::place::Place;
use crate::place::group::{CPU_MAX, MADE, QUOTA};
use crate::place::masks;
use crate::place::sentence;
use crate::process;
use ::host::cgroup::{Group, cpu_groups};
use ::host::group::{GroupFolder, members};
use ::host::{Tree, threads};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Length of a quota's period, microseconds.
pub(crate) const PERIOD_US: u64 = 100_000;
/// Smallest quota the kernel accepts, microseconds.
pub(crate) const QUOTA_MIN_US: u64 = 1_000;
/// How many times a group's members are compared with the tree: processes come and go meanwhile.
const LOOKS: u32 = 3;

/// What a server is left with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Taken<'a> {
    /// This many CPUs' worth of time.
    CpuTime(f64),
    /// No other CPUs than these.
    Cpus(&'a [u32]),
}

/// A server that is limited from [`ServerChange::begin`] to [`ServerChange::end`], until the change
/// is reverted.
#[derive(Debug)]
pub struct ServerChange {
    held: Held,
    /// The quota in a group that is made for the server, microseconds of [`PERIOD_US`].
    quota: Option<(String, u64)>,
}

impl ServerChange {
    /// Writes into the journal what the tree of a process has now; nothing has changed yet.
    pub fn prepare(
        host: Host,
        journal: Journal,
        pid: u32,
        taken: &Taken<'_>,
    ) -> Result<Self, String> {
        match taken {
            Taken::CpuTime(cpus) => Self::cpu_time(host, journal, pid, *cpus),
            Taken::Cpus(cpus) => Self::cpus(host, journal, pid, cpus),
        }
    }

    fn cpu_time(host: Host, journal: Journal, pid: u32, cpus: f64) -> Result<Self, String> {
        let mut tree = Tree::of(pid).map_err(sentence)?;
        let chain = cpu_groups(pid).map_err(sentence)?;
        let own = chain.first().ok_or("the server is in no control group with CPU limits")?;
        let folder = own.folder.display().to_string();
        let quota_us = ((cpus * PERIOD_US as f64).round() as u64).max(QUOTA_MIN_US);
        let (place, wanted, quota) = match own.version {
            1 => {
                one_group(&tree, own)?;
                let made = format!("{folder}/{MADE}{}", std::process::id());
                let started_ticks = process::stat(pid).map_err(sentence)?.started_ticks;
                let quota = Some((made.clone(), quota_us));
                let place = Place::Group { pid, started_ticks, from: folder, made: made.clone() };
                (place, made, quota)
            }
            _ => {
                require_alone(own, &mut tree)?;
                let opened = GroupFolder::open(&host.root, Path::new(&folder));
                let inode = opened.and_then(|group| group.inode());
                let inode = inode.map_err(|why| format!("{folder}: {why}"))?;
                (Place::CpuMax { folder, inode }, format!("{quota_us} {PERIOD_US}"), None)
            }
        };
        let held =
            Held::begin(host, journal, Turn::of_experiment("server-cpu-time", place, wanted))?;
        Ok(Self { held, quota })
    }

    fn cpus(host: Host, journal: Journal, pid: u32, cpus: &[u32]) -> Result<Self, String> {
        let to = cpus.iter().copied().collect::<CpuSet>().list();
        let started_ticks = process::stat(pid).map_err(sentence)?.started_ticks;
        let before = masks::lists(&host, pid).map_err(sentence)?;
        let place = Place::Masks { pid, started_ticks, to: to.clone(), before };
        let held = Held::begin(host, journal, Turn::of_experiment("server-cpus", place, to))?;
        Ok(Self { held, quota: None })
    }

    /// Moves the tree to a group where it can be limited, if it must move; no limit changes.
    pub fn enter(&self) -> Result<(), String> {
        if self.quota.is_some() { self.held.turn() } else { Ok(()) }
    }

    /// Limits the server.
    pub fn begin(&self) -> Result<(), String> {
        let Some((made, quota_us)) = &self.quota else { return self.held.turn() };
        set(made, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
        set(made, QUOTA, &quota_us.to_string())
    }

    /// Lets the server use what it could use before.
    pub fn end(&self) -> Result<(), String> {
        match &self.quota {
            Some((made, _)) => set(made, QUOTA, "-1"),
            None => self.held.turn_back(),
        }
    }

    /// Ends the limit for good, and moves the tree back to where it was.
    pub fn revert(self) -> Result<(), String> {
        self.held.revert()
    }
}

pub(crate) fn set(group: &str, file: &str, value: &str) -> Result<(), String> {
    let opened = GroupFolder::open(&Default::default(), Path::new(group));
    let written = opened.and_then(|group| group.write(file, value));
    written.map_err(|error| format!("{group}/{file}: {error}"))
}

/// All threads of the tree must be in one group: they are put back into one.
fn one_group(tree: &Tree, own: &Group) -> Result<(), String> {
    for pid in tree.pids() {
        for tid in threads::of(&Default::default(), *pid).map_err(sentence)? {
            let chain = match cpu_groups(tid) {
                // The thread has ended meanwhile.
                Err(_) if process::stat_if_there(tid).map_err(sentence)?.is_none() => continue,
                chain => chain.map_err(sentence)?,
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

/// Refuses a group that holds other processes too, or that does not hold all of the tree. Moving
/// the server to another group would drop the other limits of its group, and systemd takes an empty
/// group for the end of the service.
fn require_alone(own: &Group, tree: &mut Tree) -> Result<(), String> {
    if !own.folder.join(CPU_MAX).exists() {
        return Err(format!(
            "the server's control group {} has no {CPU_MAX}: it is the root, or the group above it \
             does not give it the cpu controller; start the server in another group, for example \
             with systemd-run --scope -p CPUWeight=100",
            own.path
        ));
    }
    let mut why = String::new();
    for _ in 0..LOOKS {
        let inside = members(&own.folder).map_err(|why| why.to_string())?;
        tree.refresh().map_err(sentence)?;
        let stranger = inside.iter().find(|pid| !tree.pids().contains(pid));
        let outside = tree.pids().iter().find(|pid| !inside.contains(pid) && runs(**pid));
        why = match (stranger, outside) {
            (None, None) => return Ok(()),
            (Some(pid), _) => format!(
                "process {pid} is in the server's control group {} but is not part of the \
                 server, and would be limited with it; start the server in a separate group, for \
                 example with systemd-run --scope",
                own.path
            ),
            (None, Some(pid)) => format!(
                "the server's processes are in several control groups: {pid} is not in {}",
                own.path
            ),
        };
        thread::sleep(Duration::from_millis(10));
    }
    Err(why)
}

/// Whether a group lists the process: processes that have ended are in no group.
fn runs(pid: u32) -> bool {
    process::stat_if_there(pid).map_or(true, |stat| stat.is_some_and(|stat| !stat.has_ended()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::host::testing::{Child, Folder};
    use std::fs;
    use std::process::Command;
    use std::sync::mpsc::channel;

    #[test]
    fn a_group_with_others_or_without_all_of_the_server_is_refused() {
        let folder = Folder::new("alone");
        let shell = Child::spawn(Command::new("sh").args(["-c", "sleep 60 & wait"]));
        shell.wait_for("sleep", 1);
        let mut tree = Tree::of(shell.id()).unwrap();
        let (pid, child) = (shell.id(), tree.pids()[1]);
        let mut alone = |path: &str| {
            let folder = folder.path().join("server");
            require_alone(&Group { version: 2, path: path.to_string(), folder }, &mut tree)
        };
        folder.write("server/cgroup.procs", format!("{pid}\n"));
        folder.write("server/worker/cgroup.procs", format!("{child}\n"));
        let why = alone("/server").unwrap_err();
        assert!(why.contains("/server has no cpu.max: it is the root, or"), "{why}");
        folder.write("server/cpu.max", "max 100000\n");
        assert_eq!(alone("/server"), Ok(()));
        assert_eq!(alone("/"), Ok(()), "the root of a container may have a limit");
        folder.write("server/below/cgroup.procs", "1\n");
        let why = alone("/server").unwrap_err();
        assert!(why.contains("process 1 is in the server's control group /server"), "{why}");
        folder.write("server/below/cgroup.procs", "");
        folder.write("server/worker/cgroup.procs", "");
        let why = alone("/server").unwrap_err();
        assert!(why.contains(&format!("{child} is not in /server")), "{why}");
    }

    #[test]
    #[ignore = "it makes a control group, as root: make test-host"]
    fn a_thread_in_a_group_of_its_own_is_noticed() {
        let us = std::process::id();
        let chain = cpu_groups(us).unwrap_or_default();
        let Some(own) = chain.first().filter(|own| own.version == 1) else {
            println!("skipped: version 1 of control groups is not here");
            return;
        };
        let other = own.folder.join(format!("ceiling-test-{us}"));
        fs::create_dir(&other).expect("only root makes control groups");
        let (sender, receiver) = channel::<()>();
        let (tell, started) = channel();
        let thread = thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let _ = receiver.recv();
        });
        let tid = started.recv().unwrap();
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
