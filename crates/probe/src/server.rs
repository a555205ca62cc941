//! The facts about the server's process tree.

use crate::process;
use crate::source::{cgroup, sock_diag};
use crate::tree::Tree;
use model::facts::{ServerFacts, Unreadable};
use std::collections::BTreeMap;

/// Threads whose affinity is looked at.
const THREADS_MAX: usize = 4096;

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
    let open_files_limit = keep(process::open_files_limit(pid), &mut unreadable);
    let listening =
        |port| sock_diag::require_same_namespace(pid).and_then(|()| sock_diag::listening(port));
    let listeners = match port {
        Some(port) => keep(listening(port), &mut unreadable).unwrap_or_default().len() as u32,
        None => 1,
    };
    let threads = tree.pids().iter().filter_map(|&pid| process::stat(pid).ok());
    let cpus_allowed = cpus_allowed.unwrap_or_default();
    Ok(ServerFacts {
        pid,
        found_by: found_by.to_string(),
        command: command.unwrap_or_default(),
        pids: tree.pids().to_vec(),
        threads: threads.map(|stat| stat.threads).sum(),
        pinned_threads: pinned_threads(tree.pids(), &cpus_allowed),
        cpus_allowed,
        quotas: quotas.unwrap_or_default(),
        open_files_limit,
        listeners,
        unreadable,
    })
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
        assert!(facts.open_files_limit.is_some() && !facts.cpus_allowed.is_empty());
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
