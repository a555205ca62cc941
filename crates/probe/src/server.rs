//! The facts about the server's process tree.

use crate::find::socket_inode;
use crate::limits;
use crate::process;
use crate::source::{cgroup, sock_diag};
use crate::tree::Tree;
use model::facts::{ProcessFacts, ServerFacts, Unreadable};
use model::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Threads whose affinity is looked at.
const THREADS_MAX: usize = 4096;

/// Processes that are looked at one by one.
const PROCESSES_MAX: usize = 1024;

/// Why there are no facts at all about a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// There is no such process, or no longer.
    #[error("no process {pid} runs on this host ({why})")]
    NoProcess {
        /// The number asked for.
        pid: u32,
        /// The operating system's reason.
        why: String,
    },
}

/// What the process tree below `pid` is, with a list of what could not be read. `found_by` is
/// kept as given. Without a port it listens on a unix socket, which is one.
pub fn server_facts(
    pid: u32,
    port: Option<u16>,
    found_by: &str,
) -> Result<ServerFacts, ServerError> {
    let no_process = |failed: Unreadable| ServerError::NoProcess { pid, why: failed.why };
    let tree = Tree::of(pid).map_err(no_process)?;
    let mut unreadable = Vec::new();
    let command = keep(process::command(pid), &mut unreadable);
    let cpus_allowed = keep(process::cpus_allowed(pid), &mut unreadable);
    let quotas = keep(cgroup::quotas(pid), &mut unreadable);
    let open_files_limit = keep(limits::open_files(&Root::default(), pid), &mut unreadable);
    let listening =
        |port| sock_diag::require_same_namespace(pid).and_then(|()| sock_diag::listening(port));
    let sockets = port.map(|port| keep(listening(port), &mut unreadable));
    let listeners = match &sockets {
        Some(sockets) => sockets.as_ref().map_or(0, Vec::len) as u32,
        None => 1,
    };
    let inodes = sockets.flatten().map(|all| all.iter().map(|socket| socket.inode).collect());
    let threads = tree.pids().iter().filter_map(|&pid| process::stat(pid).ok());
    let cpus_allowed = cpus_allowed.unwrap_or_default();
    Ok(ServerFacts {
        pid,
        found_by: found_by.to_string(),
        command: command.unwrap_or_default(),
        pids: tree.pids().to_vec(),
        processes: processes(tree.pids(), inodes.as_ref()),
        threads: threads.map(|stat| stat.threads).sum(),
        pinned_threads: pinned_threads(tree.pids(), &cpus_allowed),
        cpus_allowed,
        quotas: quotas.unwrap_or_default(),
        open_files_limit,
        listeners,
        unreadable,
    })
}

/// The processes one by one, those left out that have ended. Without the inodes of the listening
/// sockets nobody knows which of its sockets those are.
fn processes(pids: &[u32], listening: Option<&BTreeSet<u32>>) -> Vec<ProcessFacts> {
    let seen = pids.iter().take(PROCESSES_MAX).filter_map(|&pid| {
        let stat = process::stat(pid).ok()?;
        Some(ProcessFacts {
            pid,
            name: stat.name,
            threads: stat.threads,
            cpus_allowed: process::cpus_allowed(pid).ok(),
            listeners: listening.and_then(|inodes| held(pid, inodes)),
        })
    });
    seen.collect()
}

/// How many of the sockets a process holds. Two descriptors of one socket count once.
fn held(pid: u32, inodes: &BTreeSet<u32>) -> Option<u32> {
    let entries = fs::read_dir(process::path(pid, "fd")).ok()?;
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    let sockets: BTreeSet<u32> = links.filter_map(|link| socket_inode(&link)).collect();
    Some(sockets.intersection(inodes).count() as u32)
}

/// Threads with an affinity of their own. A server of very many threads is looked through in part.
fn pinned_threads(pids: &[u32], of_root: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    let threads = pids.iter().filter_map(|pid| process::ids(&process::path(*pid, "task")).ok());
    let masks = threads
        .flatten()
        .take(THREADS_MAX)
        .filter_map(|tid| Some((tid, process::cpus_allowed(tid).ok()?)));
    masks.filter(|(_, cpus)| cpus != of_root).collect()
}

fn keep<T>(result: Result<T, Unreadable>, unreadable: &mut Vec<Unreadable>) -> Option<T> {
    result.map_err(|why| unreadable.push(why)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Child;
    use std::net::TcpListener;
    use std::process::Command;

    #[test]
    fn a_tree_of_two_that_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let child = Child::spawn(Command::new("sh").args(["-c", "sleep 60 & wait"]));
        child.wait_for("sleep", 1);
        let facts = server_facts(child.id(), Some(port), "--server-pid").unwrap();
        assert_eq!((facts.pids.len(), facts.threads, facts.listeners), (2, 2, 1), "{facts:?}");
        assert_eq!(facts.command, "sh -c sleep 60 & wait");
        let of = |process: &ProcessFacts| (process.name.clone(), process.threads);
        let processes: Vec<_> = facts.processes.iter().map(of).collect();
        assert_eq!(processes, [("sh".to_string(), 1), ("sleep".to_string(), 1)]);
        assert_eq!(facts.processes[0].cpus_allowed, Some(facts.cpus_allowed.clone()));
        // The socket is ours and not theirs: Rust closes it when it starts another program.
        assert_eq!(facts.processes[1].listeners, Some(0));
        assert!(facts.open_files_limit.is_some() && !facts.cpus_allowed.is_empty());
    }

    #[test]
    fn listening_sockets_are_told_by_their_holder() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let twice = listener.try_clone().unwrap();
        let port = listener.local_addr().unwrap().port();
        let facts = server_facts(std::process::id(), Some(port), "--server-pid").unwrap();
        assert_eq!(facts.processes[0].listeners, Some(1), "{facts:?}");
        drop((listener, twice));
        let on_a_path = server_facts(std::process::id(), None, "--server-pid").unwrap();
        assert_eq!((on_a_path.processes[0].listeners, on_a_path.listeners), (None, 1));
    }

    #[test]
    fn a_pinned_part_of_the_tree_is_told_apart() {
        let cpus = process::cpus_allowed(std::process::id()).unwrap();
        let Some(&last) = cpus.last().filter(|_| cpus.len() > 1) else {
            println!("skipped: one CPU is not enough to pin anything");
            return;
        };
        let script = format!("taskset -c {last} sleep 60 & wait");
        let child = Child::spawn(Command::new("sh").args(["-c", &script]));
        child.wait_for("sleep", 1);
        let facts = server_facts(child.id(), Some(1), "--server-pid").unwrap();
        assert_eq!(facts.cpus_allowed, cpus);
        let pinned: Vec<_> = facts.pinned_threads.values().collect();
        assert_eq!(pinned, [&vec![last]]);
    }

    #[test]
    fn no_process_no_facts() {
        let error = server_facts(u32::MAX - 1, Some(80), "--server-pid").unwrap_err();
        assert!(error.to_string().contains("no process 4294967294 runs"), "{error}");
    }
}
