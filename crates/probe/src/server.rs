//! The facts about the server's process tree.

use crate::facts::host_facts_inside;
use crate::network::Network;
use crate::socket::socket_inode;
use crate::source::cgroup;
use crate::source::sock_diag::{self, Socket};
use crate::tree::Tree;
use crate::{container, limits, namespace, process, published};
use ::host::addresses;
use model::facts::{ProcessFacts, ServerFacts, ServerNetwork, Unreadable};
use model::maps::IntoMap;
use model::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;

/// Most threads whose affinity is read.
const THREADS_MAX: usize = 4096;

/// Most processes that are read one by one.
const PROCESSES_MAX: usize = 1024;

/// A process, and when it started: its pid alone may belong to another one later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownProcess {
    pid: u32,
    started_ticks: u64,
}

impl KnownProcess {
    /// A process that runs.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, started_ticks: process::stat(pid).ok()?.started_ticks })
    }

    /// The process that started this many clock ticks after the host did, if it still runs.
    pub fn started_at(pid: u32, started_ticks: u64) -> Self {
        Self { pid, started_ticks }
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it still runs; also when that cannot be read.
    pub fn runs(&self) -> bool {
        let same = process::same(&Root::default(), self.pid, self.started_ticks);
        same.map_or(true, |same| same.is_some())
    }
}

/// Why there are no facts at all about a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// There is no such process, or no longer.
    #[error("no process {pid} runs on this host ({why})")]
    NoProcess {
        /// The pid asked for.
        pid: u32,
        /// The operating system's reason.
        why: String,
    },
}

/// What the process tree below `pid` is, with a list of what could not be read. `found_by` is kept
/// as given. Without a port the server listens on a unix socket, which counts as one listener.
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
    let sockets = port.map(|port| {
        let sockets = keep(listening(pid, tree.pids(), port), &mut unreadable);
        sockets.map(|(inner_port, mut sockets)| {
            sockets.retain(|socket| Some(socket.local_port) == inner_port);
            (inner_port, sockets)
        })
    });
    let listeners = match &sockets {
        Some(sockets) => sockets.as_ref().map_or(0, |(_, sockets)| sockets.len()) as u32,
        None => 1,
    };
    let sockets = sockets.flatten();
    unreadable.extend(sock_diag::lost().filter(|_| port.is_some()));
    let mut network = network(pid, sockets.as_ref().and_then(|(port, _)| *port));
    if let Some(network) = &mut network {
        unreadable.append(&mut network.host.unreadable);
        let port = port.filter(|_| network.port.is_none() && sockets.is_some());
        unreadable.extend(port.map(|port| Unreadable {
            source: network.namespace.clone(),
            why: format!(
                "its processes listen on several ports there or on none, and not on {port}: it is \
                 not known which one is meant, so its queues and connections are not read"
            ),
        }));
    }
    let inodes = sockets.map(|(_, all)| all.iter().map(|socket| socket.inode).collect());
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
        container: container::of_process(&Root::default(), pid),
        network: network.map(Box::new),
        passed_on_by: None,
        unreadable,
    })
}

/// The network namespace of a process, when it differs from ours.
fn network(pid: u32, port: Option<u16>) -> Option<ServerNetwork> {
    let namespace = namespace::apart(&Root::default(), pid)?;
    let addresses = addresses::of_folder(&process::path(pid, "net")).into_iter().collect();
    Some(ServerNetwork { namespace, port, addresses, host: host_facts_inside(pid) })
}

/// The port on which a server listens, and all listening sockets of its network namespace. In a
/// namespace other than ours the port may be published, and is then a different one there.
fn listening(pid: u32, pids: &[u32], port: u16) -> Result<(Option<u16>, Vec<Socket>), Unreadable> {
    if namespace::apart(&Root::default(), pid).is_none() {
        return Ok((Some(port), sock_diag::listening(Network::Shared, port)?));
    }
    let asked = namespace::inside(pid, || sock_diag::all_listening(Network::Shared));
    let sockets = asked.unwrap_or_else(|_| sock_diag::all_listening(Network::Outside(pid)))?;
    let held: BTreeSet<u32> =
        pids.iter().take(PROCESSES_MAX).filter_map(|&pid| held(pid)).flatten().collect();
    let is_held = |socket: &&Socket| held.contains(&socket.inode);
    let ports: BTreeSet<u16> =
        sockets.iter().filter(is_held).map(|socket| socket.local_port).collect();
    let addresses: Vec<IpAddr> =
        addresses::of_folder(&process::path(pid, "net")).into_iter().collect();
    let published = published::inner_ports(port, &addresses);
    let all = sockets.iter().map(|socket| socket.local_port).collect();
    Ok((inner_port(port, &ports, &all, &published), sockets))
}

/// The port that a server listens on in its namespace, where clients may know it by another one. Of
/// the ports that its processes listen on: the same, the one that is published as it, or the only
/// one. If their descriptors cannot be read: the same, when any process there listens on it, or the
/// published one.
fn inner_port(
    port: u16,
    held: &BTreeSet<u16>,
    all: &BTreeSet<u16>,
    published: &BTreeSet<u16>,
) -> Option<u16> {
    let only = |ports: Vec<u16>| if let [one] = ports[..] { Some(one) } else { None };
    if held.is_empty() {
        let published = only(published.iter().copied().collect());
        return Some(port).filter(|port| all.contains(port)).or(published);
    }
    let published = only(held.intersection(published).copied().collect());
    let same = Some(port).filter(|port| held.contains(port));
    same.or(published).or_else(|| only(held.iter().copied().collect()))
}

/// The processes one by one, without those that have ended. Without the inodes of the listening
/// sockets it is not known which of a process's sockets those are.
fn processes(pids: &[u32], listening: Option<&BTreeSet<u32>>) -> Vec<ProcessFacts> {
    let seen = pids.iter().take(PROCESSES_MAX).filter_map(|&pid| {
        let stat = process::stat(pid).ok()?;
        Some(ProcessFacts {
            pid,
            name: stat.name,
            threads: stat.threads,
            cpus_allowed: process::cpus_allowed(pid).ok(),
            listeners: listening
                .and_then(|inodes| Some(held(pid)?.intersection(inodes).count() as u32)),
        })
    });
    seen.collect()
}

/// Inodes of the sockets that a process holds. Two descriptors of one socket count once.
fn held(pid: u32) -> Option<BTreeSet<u32>> {
    let entries = fs::read_dir(process::path(pid, "fd")).ok()?;
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    Some(links.filter_map(|link| socket_inode(&link)).collect())
}

/// Threads with an affinity of their own. Of very many threads only some are read.
fn pinned_threads(pids: &[u32], of_root: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    let threads = pids.iter().filter_map(|pid| process::ids(&process::path(*pid, "task")).ok());
    let masks = threads
        .flatten()
        .take(THREADS_MAX)
        .filter_map(|tid| Some((tid, process::cpus_allowed(tid).ok()?)));
    masks.filter(|(_, cpus)| cpus != of_root).into_map()
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
    fn a_published_port_is_another_one_inside() {
        let set = |ports: &[u16]| ports.iter().copied().collect::<BTreeSet<u16>>();
        let inner = |held: &[u16], all: &[u16], published: &[u16]| {
            inner_port(8080, &set(held), &set(all), &set(published))
        };
        assert_eq!(inner(&[80, 8080], &[80, 8080], &[80]), Some(8080));
        assert_eq!(inner(&[80, 443], &[80, 443], &[80]), Some(80));
        assert_eq!(inner(&[80], &[80, 22], &[]), Some(80), "the only one of its own");
        assert_eq!(inner(&[80, 443], &[80, 443], &[]), None, "which of them is not guessed");
        assert_eq!(inner(&[], &[8080], &[]), Some(8080), "its descriptors are not readable");
        assert_eq!(inner(&[], &[80], &[80]), Some(80));
        assert_eq!(inner(&[], &[80], &[]), None);
    }

    #[test]
    fn no_process_no_facts() {
        let error = server_facts(u32::MAX - 1, Some(80), "--server-pid").unwrap_err();
        assert!(error.to_string().contains("no process 4294967294 runs"), "{error}");
    }
}
