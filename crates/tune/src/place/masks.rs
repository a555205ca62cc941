//! CPUs that each thread of a process tree may use, kept on fewer of them for a while.
//!
//! Unlike in [`super::threads`] the threads may differ, so the place records what each of them had.
//! The value has two states: what they had, or the CPUs that they are kept on. A thread that may
//! run on none of those stays where it is. A thread started since inherited the CPUs of the thread
//! that started it. A thread that was given other CPUs since is left alone.

use super::{PlaceError, Seen, threads::MIXED};
use crate::cpus::CpuSet;
use crate::host::Host;
use crate::place::sentence;
use ::host::kernel_file::is_gone;
use ::host::{Tree, process, threads};
use model::facts::Unreadable;
use std::collections::{BTreeMap, BTreeSet};

/// How many times the threads are listed, to find those started meanwhile by a thread that had not
/// been changed yet. For a server that keeps starting threads there is no complete list.
const LOOKS: u32 = 10;

/// Threads by the list of CPUs that they may use: tid, and start in clock ticks since the boot,
/// which tells a thread from a later one with the same tid.
pub type Lists = BTreeMap<String, Vec<(u32, u64)>>;

pub(super) fn show(pid: u32) -> String {
    format!("threads of process {pid} and its children")
}

/// The threads of a tree as they are now.
pub fn lists(host: &Host, root: u32) -> Result<Lists, Unreadable> {
    let mut lists = Lists::new();
    for (pid, tid) in all(host, root)? {
        let stat = process::stat_if_there_on(&host.root, tid)?;
        if let (Some(stat), Some(cpus)) = (stat, cpus(host, pid, tid)?) {
            lists.entry(cpus.list()).or_default().push((tid, stat.started_ticks));
        }
    }
    Ok(lists)
}

/// All threads of a tree, each after its process.
fn all(host: &Host, root: u32) -> Result<Vec<(u32, u32)>, Unreadable> {
    let mut found = Vec::new();
    for pid in Tree::on(&host.root, root)?.pids() {
        found.extend(threads::of(&host.root, *pid)?.into_iter().map(|tid| (*pid, tid)));
    }
    Ok(found)
}

/// CPUs of a thread; nothing when it has ended.
fn cpus(host: &Host, pid: u32, tid: u32) -> Result<Option<CpuSet>, Unreadable> {
    threads::cpus_of(&host.root, (pid, tid))
}

/// What threads had and what they are kept on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pair {
    own: CpuSet,
    kept: CpuSet,
}

/// The fields of the place.
pub(super) struct Masks<'a> {
    pub(super) pid: u32,
    pub(super) started_ticks: u64,
    pub(super) to: &'a str,
    pub(super) before: &'a Lists,
}

impl Masks<'_> {
    /// Whether its lists can be parsed, since it may come from a journal.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut lists = self.before.keys().map(String::as_str).chain([self.to]);
        lists.try_for_each(|list| CpuSet::parse_list(list).map(drop))
    }

    /// What the threads had, in one line.
    fn before(&self) -> String {
        let all = self.before.keys().map(String::as_str).collect::<Vec<_>>().join("; ");
        if self.before.len() > 1 { format!("{MIXED} {all}") } else { all }
    }

    fn pairs(&self) -> Result<BTreeMap<(u32, u64), Pair>, String> {
        let to = CpuSet::parse_list(self.to)?;
        let mut pairs = BTreeMap::new();
        for (list, threads) in self.before {
            let own = CpuSet::parse_list(list)?;
            let kept = if own.and(&to).is_empty() { own.clone() } else { own.and(&to) };
            let pair = Pair { own, kept };
            pairs.extend(threads.iter().map(|thread| (*thread, pair.clone())));
        }
        Ok(pairs)
    }

    /// Whether the process at the top is the one that was meant.
    fn has_root(&self, host: &Host) -> Result<bool, String> {
        let same = process::same(&host.root, self.pid, self.started_ticks);
        same.map(|same| same.is_some()).map_err(sentence)
    }

    /// Whether a process is one of those whose threads are kept: known, or in the tree now. It is
    /// when that cannot be read.
    pub(super) fn covers(&self, host: &Host, process: (u32, u64)) -> bool {
        let is_known = self.before.values().flatten().any(|thread| *thread == process);
        let is_below =
            || Tree::on(&host.root, self.pid).map(|tree| tree.pids().contains(&process.0));
        is_known
            || self.has_root(host).map_or(true, |has_root| has_root && is_below().unwrap_or(true))
    }

    /// Threads that exist now, known and new, each with its pair. A new thread gets the pair of a
    /// known one with the same CPUs; the first thread of the tree is tried first.
    fn now(&self, host: &Host) -> Result<Vec<Thread>, String> {
        let pairs = self.pairs()?;
        let mut found = Vec::new();
        for (&(tid, started_ticks), pair) in &pairs {
            let stat = process::stat_if_there_on(&host.root, tid).map_err(sentence)?;
            let is_it =
                |stat: process::Stat| stat.started_ticks == started_ticks && !stat.has_ended();
            if !stat.is_some_and(is_it) {
                continue;
            }
            if let Some(now) = cpus(host, tid, tid).map_err(sentence)? {
                found.push(Thread { tid, pair: pair.clone(), now });
            }
        }
        if !self.has_root(host)? {
            return Ok(found);
        }
        let listed = match all(host, self.pid) {
            // The process ended in between.
            Err(_) if !self.has_root(host)? => Vec::new(),
            listed => listed.map_err(sentence)?,
        };
        let known: BTreeSet<u32> = found.iter().map(|thread| thread.tid).collect();
        let of_root = pairs.get(&(self.pid, self.started_ticks));
        for (pid, tid) in listed.into_iter().filter(|(_, tid)| !known.contains(tid)) {
            let Some(now) = cpus(host, pid, tid).map_err(sentence)? else { continue };
            let has_it = |pair: &&Pair| pair.own == now || pair.kept == now;
            if let Some(pair) = of_root.into_iter().chain(pairs.values()).find(has_it) {
                found.push(Thread { tid, pair: pair.clone(), now });
            }
        }
        Ok(found)
    }

    /// The CPUs they are kept on while any of them is, otherwise what they had. Nothing when none
    /// of them exists any more.
    pub(super) fn read(&self, host: &Host) -> Result<Option<Seen>, PlaceError> {
        let wrong = |why| PlaceError::Value { place: show(self.pid), why };
        let now = self.now(host).map_err(wrong)?;
        let value = match now.iter().any(Thread::is_kept) {
            _ if now.is_empty() => return Ok(None),
            true => self.to.to_string(),
            false => self.before(),
        };
        Ok(Some(Seen { raw: value.clone(), value }))
    }

    /// Continues after a failure, and returns the first one.
    pub(super) fn write(&self, host: &Host, value: &str) -> Result<(), PlaceError> {
        let wrong = |why| PlaceError::Value { place: show(self.pid), why };
        let mut first = Ok(());
        for _ in 0..LOOKS {
            let mut now = self.now(host).map_err(wrong)?;
            now.retain(|thread| match value == self.to {
                true => thread.now == thread.pair.own && thread.now != thread.pair.kept,
                false => thread.is_kept(),
            });
            if now.is_empty() || first.is_err() {
                break;
            }
            for Thread { tid, pair, .. } in now {
                let cpus = if value == self.to { &pair.kept } else { &pair.own };
                match threads::set_cpus(&host.root, (tid, tid), cpus) {
                    Err(error) if is_gone(&error) => {}
                    done => {
                        let io = |error| PlaceError::Io { place: show(self.pid), error };
                        first = first.and(done.map_err(io));
                    }
                }
            }
        }
        first
    }
}

/// A thread that exists now.
struct Thread {
    tid: u32,
    pair: Pair,
    now: CpuSet,
}

impl Thread {
    fn is_kept(&self) -> bool {
        self.now == self.pair.kept && self.now != self.pair.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use ::host::testing::Child;
    use model::root::Root;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn host() -> Host {
        Host::look(Root::default())
    }

    fn list(tid: u32) -> String {
        cpus(&host(), tid, tid).unwrap().unwrap().list()
    }

    /// Two lists of the CPUs of this process, when they are enough to take some away.
    fn some_and_all() -> Option<(String, String)> {
        let all = cpus(&host(), std::process::id(), std::process::id()).unwrap().unwrap();
        if all.len() < 2 {
            println!("skipped: one CPU is not enough to take one away");
            return None;
        }
        Some((all.iter().next().unwrap().to_string(), all.list()))
    }

    fn place(pid: u32, to: &str) -> Place {
        let started_ticks = process::stat(pid).unwrap().started_ticks;
        Place::Masks { pid, started_ticks, to: to.into(), before: lists(&host(), pid).unwrap() }
    }

    fn narrow(place: &Place, to: &str) {
        let before = place.read(&host()).unwrap().unwrap();
        place.write(&host(), to, &before).unwrap();
    }

    fn widen(place: &Place, all: &str) {
        let seen = place.read(&host()).unwrap().unwrap();
        place.write(&host(), all, &seen).unwrap();
        assert_eq!(place.read(&host()).unwrap().unwrap().value, all);
    }

    fn shell(script: &str) -> Child {
        let child = Child::spawn(Command::new("sh").args(["-c", script]));
        child.wait_for("sleep", 1);
        child
    }

    fn sleeper(shell: u32) -> u32 {
        *Tree::of(shell).unwrap().pids().last().unwrap()
    }

    #[test]
    fn it_outlives_the_process_that_names_it() {
        let place = place(std::process::id(), "0");
        let text = serde_json::to_string(&place).unwrap();
        assert_eq!(serde_json::from_str::<Place>(&text).unwrap(), place, "{text}");
        assert_eq!(place.check_sound(), Ok(()));
    }

    #[test]
    fn children_are_given_their_cpus_back_after_the_root_has_ended() {
        let Some((one, all)) = some_and_all() else { return };
        let mut shell = shell("sleep 60 & wait");
        let child = sleeper(shell.id());
        let place = place(shell.id(), &one);
        assert_eq!(place.read(&host()).unwrap().unwrap().value, all);
        narrow(&place, &one);
        assert_eq!((list(child), place.read(&host()).unwrap().unwrap().value), (one.clone(), one));
        shell.kill();
        shell.wait_until("the shell has ended", |shell| {
            process::stat(shell.id()).is_ok_and(|stat| stat.has_ended())
        });
        widen(&place, &all);
        assert_eq!(list(child), all);
        let child = i32::try_from(child).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn what_was_started_since_is_narrowed_and_widened_too() {
        let Some((one, all)) = some_and_all() else { return };
        let mut command = Command::new("sh");
        command.args(["-c", "read line; sleep 60 & wait"]).stdin(Stdio::piped());
        let mut shell = command.spawn().unwrap();
        let place = place(shell.id(), &one);
        narrow(&place, &one);
        shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
        while Tree::of(shell.id()).unwrap().pids().len() < 2 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let child = sleeper(shell.id());
        assert_eq!(list(child), one);
        widen(&place, &all);
        assert_eq!((list(child), list(shell.id())), (all.clone(), all.clone()));
        narrow(&place, &one);
        assert_eq!(list(child), one, "it was started before this");
        widen(&place, &all);
        for pid in [child, shell.id()] {
            let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
    }

    #[test]
    fn a_thread_that_was_given_others_since_is_left_alone_and_so_is_another_with_its_number() {
        let Some((one, all)) = some_and_all() else { return };
        let other = CpuSet::parse_list(&all).unwrap().iter().last().unwrap().to_string();
        let shell = shell("sleep 60 & wait");
        let child = sleeper(shell.id());
        let place = place(shell.id(), &one);
        narrow(&place, &one);
        let root = Root::default();
        threads::set_cpus(&root, (child, child), &CpuSet::parse_list(&other).unwrap()).unwrap();
        widen(&place, &all);
        assert_eq!((list(shell.id()), list(child)), (all, other));
        let before = Lists::from([(one.clone(), vec![(shell.id(), 1)])]);
        let later = Place::Masks { pid: shell.id(), started_ticks: 1, to: one, before };
        assert_eq!(later.read(&host()).unwrap(), None);
    }
}
