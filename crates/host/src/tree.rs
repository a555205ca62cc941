//! The process tree of a server: a process and all its descendants.

use crate::kernel_file::{is_gone, unreadable};
use crate::process;
use crate::scan;
use model::facts::Unreadable;
use model::root::Root;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The processes of a tree as of its last refresh, the root first. Our own process is left out,
/// also when the server has started it: it is the other side.
#[derive(Debug)]
pub struct Tree {
    host: Root,
    root: u32,
    /// Known from the first look that succeeds.
    root_started_ticks: Option<u64>,
    /// Once the root has ended it stays so: another process may get its number.
    has_ended: bool,
    pids: Vec<u32>,
}

impl Tree {
    /// The tree below a process that runs.
    pub fn of(root: u32) -> Result<Self, Unreadable> {
        Self::on(&Root::default(), root)
    }

    /// The tree below a process of a host whose files are elsewhere.
    pub fn on(host: &Root, root: u32) -> Result<Self, Unreadable> {
        let mut tree = Self::unseen(host, root);
        tree.refresh()?;
        Ok(tree)
    }

    /// A tree that has not been read yet.
    pub fn unseen(host: &Root, root: u32) -> Self {
        let pids = vec![root];
        Self { host: host.clone(), root, root_started_ticks: None, has_ended: false, pids }
    }

    /// Its processes.
    pub fn pids(&self) -> &[u32] {
        &self.pids
    }

    /// The process at its top.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Reads it again. Fails when the root has ended, even if another process got its number, and
    /// when it cannot be read, which may pass: without free descriptors nothing can be read.
    pub fn refresh(&mut self) -> Result<(), Unreadable> {
        if self.has_ended {
            return Err(self.ended());
        }
        let stat = process::stat_if_there_on(&self.host, self.root)?;
        let started_ticks = stat.as_ref().map(|stat| stat.started_ticks);
        let known_ticks = self.root_started_ticks.or(started_ticks);
        if stat.is_none_or(|stat| stat.has_ended()) || started_ticks != known_ticks {
            self.has_ended = true;
            return Err(if known_ticks.is_some() { self.ended() } else { self.missing() });
        }
        self.root_started_ticks = known_ticks;
        self.pids.clear();
        self.pids.push(self.root);
        let parents = if self.has_children_files() { None } else { Some(parents(&self.host)?) };
        let mut next = 0;
        while next < self.pids.len() {
            let pid = self.pids[next];
            next += 1;
            match &parents {
                None => push_children(&self.host, pid, &mut self.pids)?,
                Some(parents) => {
                    let children = parents.iter().filter(|(_, parent)| **parent == pid);
                    self.pids.extend(children.map(|(child, _)| child));
                }
            }
            self.pids.retain(|pid| *pid == self.root || *pid != std::process::id());
        }
        Ok(())
    }

    fn ended(&self) -> Unreadable {
        let why = "the server process has ended".to_string();
        Unreadable { source: format!("/proc/{}", self.root), why }
    }

    fn missing(&self) -> Unreadable {
        unreadable(
            &self.host.process(self.root, "stat"),
            io::Error::from_raw_os_error(libc::ENOENT),
        )
    }

    /// Whether the kernel lists children (CONFIG_PROC_CHILDREN), which saves reading every process.
    fn has_children_files(&self) -> bool {
        let tasks = self.host.process(self.root, "task");
        tasks.join(self.root.to_string()).join("children").exists()
    }
}

/// Adds the children of all threads of a process: each thread lists those it forked itself. What
/// ends meanwhile is left out; the next refresh decides.
fn push_children(host: &Root, pid: u32, pids: &mut Vec<u32>) -> Result<(), Unreadable> {
    let tasks = host.process(pid, "task");
    for tid in seen(&tasks, process::ids(&tasks))? {
        let file = tasks.join(tid.to_string()).join("children");
        let children = seen(&file, fs::read(&file))?;
        let ids = scan::words(&children).filter_map(scan::number);
        for child in ids.filter_map(|id| u32::try_from(id).ok()) {
            // The kernel warns that the list may repeat or miss a child while forks go on.
            if !pids.contains(&child) {
                pids.push(child);
            }
        }
    }
    Ok(())
}

/// Empty for what is gone or not readable to us; what fails for another reason is an error, since
/// it may be readable next time.
fn seen<T: Default>(path: &Path, read: io::Result<T>) -> Result<T, Unreadable> {
    match read {
        Err(why) if is_gone(&why) || why.kind() == io::ErrorKind::PermissionDenied => {
            Ok(T::default())
        }
        read => read.map_err(|why| unreadable(path, why)),
    }
}

/// The parent of every process of a host that we can see.
pub fn parents(host: &Root) -> Result<BTreeMap<u32, u32>, Unreadable> {
    let proc = host.path("/proc");
    let ids = process::ids(&proc).map_err(|why| unreadable(&proc, why))?;
    let mut parents = BTreeMap::new();
    for pid in ids {
        let path = host.process(pid, "stat");
        match fs::read(&path) {
            Ok(bytes) => {
                parents.extend(process::parse_stat(&bytes).map(|stat| (pid, stat.parent)).ok());
            }
            Err(why) if is_gone(&why) => {}
            Err(why) => return Err(unreadable(&path, why)),
        }
    }
    Ok(parents)
}

/// Processes below one, each with its start, by number; without our own. None when it has ended.
pub fn descendants(host: &Root, pid: u32) -> Result<Vec<(u32, u64)>, Unreadable> {
    let mut tree = Tree::unseen(host, pid);
    match tree.refresh() {
        Err(_) if tree.has_ended => return Ok(Vec::new()),
        read => read?,
    }
    let mut found = Vec::new();
    for below in tree.pids().iter().filter(|below| **below != pid) {
        let stat = process::stat_if_there_on(host, *below)?;
        found.extend(stat.map(|stat| (*below, stat.started_ticks)));
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Child, Folder, fixture};
    use std::process::Command;

    #[test]
    fn grandchildren_belong_to_the_tree() {
        let script = "sh -c 'sleep 60 & sleep 60 & wait' & wait";
        let child = Child::spawn(Command::new("sh").args(["-c", script]));
        child.wait_for("sleep", 2);
        let mut tree = Tree::of(child.id()).unwrap();
        assert_eq!(tree.pids().len(), 4, "{tree:?}");
        assert_eq!(tree.pids()[0], child.id());
        let parents = parents(&Root::default()).unwrap();
        assert_eq!(parents[&tree.pids()[1]], child.id());
        tree.refresh().unwrap();
        assert_eq!(tree.pids().len(), 4);
    }

    #[test]
    fn we_are_not_part_of_a_server_that_started_us() {
        let parent = std::os::unix::process::parent_id();
        let tree = Tree::of(parent).unwrap();
        assert_eq!(tree.pids()[0], parent);
        assert!(!tree.pids().contains(&std::process::id()), "{tree:?}");
    }

    #[test]
    fn a_root_that_ended_is_told_even_before_it_is_reaped() {
        let mut child = Child::spawn(Command::new("sleep").arg("60"));
        let mut tree = Tree::of(child.id()).unwrap();
        child.kill();
        child.wait_until("the child is a zombie", |child| {
            process::stat(child.id()).is_ok_and(|stat| stat.state == b'Z')
        });
        assert!(tree.refresh().unwrap_err().why.contains("has ended"));
    }

    #[test]
    fn a_root_that_cannot_be_read_has_not_ended() {
        let host = Folder::new("tree-unreadable");
        let stat = fixture("linux-6.18-vm/thread_stat");
        let move_away = |from: &str, to: &str| {
            fs::rename(host.path().join(from), host.path().join(to)).unwrap();
        };
        host.write("proc/7/stat", &stat);
        host.write("proc/7/task/7/children", "");
        let mut tree = Tree::on(&Root::below(host.path()), 7).unwrap();
        // A folder in its place fails with another error than a file that is gone.
        move_away("proc/7/stat", "proc/7/kept");
        assert_eq!(descendants(&Root::below(host.path()), 7), Ok(Vec::new()));
        host.write("proc/7/stat/none", "");
        assert!(descendants(&Root::below(host.path()), 7).is_err());
        let why = tree.refresh().unwrap_err().why;
        assert!(!why.contains("has ended"), "{why}");
        move_away("proc/7/stat", "proc/7/folder");
        move_away("proc/7/kept", "proc/7/stat");
        tree.refresh().unwrap();
        // Children that cannot be read are not children that are gone.
        move_away("proc/7/task/7/children", "proc/7/none");
        host.write("proc/7/task/7/children/none", "");
        assert!(tree.refresh().is_err());
        move_away("proc/7/stat", "proc/7/kept");
        assert!(tree.refresh().unwrap_err().why.contains("has ended"));
        move_away("proc/7/kept", "proc/7/stat");
        assert!(tree.refresh().unwrap_err().why.contains("has ended"), "who is it now?");
    }

    #[test]
    fn no_process_no_tree() {
        assert!(Tree::of(u32::MAX - 1).unwrap_err().why.contains("No such file"));
    }
}
