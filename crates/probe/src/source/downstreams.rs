//! sock_diag and `/proc/PID/fd`: connections that the server itself opened to other services.
//!
//! The kernel is asked for connections with the port under test at neither end, established or
//! being opened (SYN_SENT); those whose inode is among the descriptors of the server's processes
//! are counted by the address of the other end. One waits when the server spoke last: it has sent
//! something that is not acknowledged, or was acknowledged or sent later than the last bytes came
//! in (`tcp_info`).
//!
//! Caveats. Of the network namespace of the calling thread only. Times of `tcp_info` are in
//! jiffies: a request that was sent in the jiffy of the response before, and acknowledged in it,
//! does not look like waiting; the other end acknowledges at once for the first few segments only.
//! Connections whose local port somebody listens on were accepted, not opened, and are left out.
//! Descriptors are looked through only when a connection is new, not more often than once a second,
//! and so many of them at most; a connection is unknown until then and left out. Unix sockets have
//! no address and are not seen.

use super::sock_diag::{self, Socket, TcpInfo};
use super::{Round, Scope, Source};
use crate::find::socket_inode;
use crate::kept::{is_gone, unreadable};
use crate::netlink::CHUNK_BYTES;
use crate::network::Network;
use model::facts::Unreadable;
use model::metric::{Declaration, Unit};
use model::reading::{Data, Downstream};
use model::root::Root;
use model::units::NS_PER_S;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;

/// Connections looked at; most of a host's others are neither the server's nor the generator's.
const SOCKETS_MAX: usize = 8192;
/// Descriptors looked at in one search, over all processes.
const LINKS_MAX: usize = 20_000;
/// Other ends told, those with most connections first.
const DOWNSTREAMS_MAX: usize = 64;
/// How often descriptors may be looked through.
const SEARCH_NS: u64 = NS_PER_S;

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("downstreams", "sock_diag and /proc/PID/fd")
        .each("to")
        .mean("connections", Unit::Count, "Connections that the server opened to another service.")
        .mean("waiting", Unit::Count, "Those of them that wait for a response.")
        .mean("opening", Unit::Count, "Connections being opened.")
        .mean("rtt_us", Unit::Us, "Smoothed round trip.")
}

struct Downstreams {
    root: Root,
    port: Option<u16>,
    /// Sockets seen so far: whether they are the server's.
    known: BTreeMap<u32, bool>,
    search_due_ns: u64,
    chunk: Vec<u8>,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    // Where the server is in another namespace, so are its connections.
    if scope.network == Network::Apart || !scope.network.is_ours() {
        return None;
    }
    scope.server()?;
    Some(Box::new(Downstreams {
        root: scope.root.clone(),
        port: scope.port,
        known: BTreeMap::new(),
        search_due_ns: 0,
        chunk: vec![0; CHUNK_BYTES],
    }))
}

impl Source for Downstreams {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let pids = round.server()?.pids();
        let sockets = sock_diag::connections_except(self.port, SOCKETS_MAX, &mut self.chunk)?;
        self.learn(&sockets, pids, round.due_ns)?;
        let ours = sockets.iter().filter(|socket| self.known.get(&socket.inode) == Some(&true));
        Ok(Data::Downstreams(by_address(ours)))
    }
}

impl Downstreams {
    /// Finds out whose the sockets are that were not seen before, and forgets those that closed.
    fn learn(&mut self, sockets: &[Socket], pids: &[u32], now_ns: u64) -> Result<(), Unreadable> {
        let inodes: BTreeSet<u32> = sockets.iter().map(|socket| socket.inode).collect();
        self.known.retain(|inode, _| inodes.contains(inode));
        let is_known = inodes.iter().all(|inode| self.known.contains_key(inode));
        if is_known || now_ns < self.search_due_ns {
            return Ok(());
        }
        self.search_due_ns = now_ns + SEARCH_NS;
        let held = self.search(pids)?;
        let listening = sock_diag::all_listening(Network::Shared)?;
        let listening: BTreeSet<u16> = listening.iter().map(|socket| socket.local_port).collect();
        for socket in sockets {
            let is_ours = held.contains(&socket.inode) && !listening.contains(&socket.local_port);
            self.known.entry(socket.inode).or_insert(is_ours);
        }
        Ok(())
    }

    /// Inodes of the sockets that the processes hold.
    fn search(&self, pids: &[u32]) -> Result<BTreeSet<u32>, Unreadable> {
        let mut held = BTreeSet::new();
        let mut left = LINKS_MAX;
        for &pid in pids {
            let folder = self.root.process(pid, "fd");
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(why) if is_gone(&why) => continue,
                Err(why) => return Err(unreadable(&folder, why)),
            };
            for entry in entries.flatten() {
                left = left.checked_sub(1).ok_or_else(|| {
                    let why =
                        format!("more than {LINKS_MAX} descriptors: too many to look through");
                    unreadable(&folder, why)
                })?;
                let link = fs::read_link(entry.path()).ok();
                held.extend(link.as_deref().and_then(socket_inode));
            }
        }
        Ok(held)
    }
}

/// Whether the end that we look at spoke last.
fn is_waiting(tcp: &TcpInfo) -> bool {
    tcp.unacknowledged > 0
        || tcp.unsent > 0
        || tcp.last_acknowledged_ms < tcp.last_received_ms
        || tcp.last_sent_ms < tcp.last_received_ms
}

/// Counts sockets by their other end.
fn by_address<'a>(sockets: impl Iterator<Item = &'a Socket>) -> Vec<Downstream> {
    let mut groups = BTreeMap::<SocketAddr, (Downstream, u64)>::new();
    for socket in sockets {
        let to = SocketAddr::new(socket.remote.to_canonical(), socket.remote_port);
        let (group, rtt_sum_us) = groups.entry(to).or_default();
        if socket.is_opening() {
            group.opening += 1;
        } else if let Some(tcp) = &socket.tcp {
            group.connections += 1;
            group.waiting += u32::from(is_waiting(tcp));
            *rtt_sum_us += u64::from(tcp.rtt_us);
        }
    }
    let finish = |(to, (group, rtt_sum_us)): (SocketAddr, (Downstream, u64))| Downstream {
        to: to.to_string(),
        rtt_us: (rtt_sum_us / u64::from(group.connections.max(1))) as u32,
        ..group
    };
    let mut downstreams: Vec<Downstream> = groups.into_iter().map(finish).collect();
    downstreams.sort_by_key(|one| std::cmp::Reverse(one.connections + one.opening));
    downstreams.truncate(DOWNSTREAMS_MAX);
    downstreams
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    fn info(ages_ms: [u32; 3], unacknowledged: u32) -> TcpInfo {
        let [last_sent_ms, last_received_ms, last_acknowledged_ms] = ages_ms;
        TcpInfo {
            unacknowledged,
            last_sent_ms,
            last_received_ms,
            last_acknowledged_ms,
            rtt_us: 100,
            cwnd: 10,
            retransmits: 0,
            busy_us: 0,
            unsent: 0,
            min_rtt_us: 0,
            rwnd_limited_us: 0,
            sndbuf_limited_us: 0,
        }
    }

    #[test]
    fn who_spoke_last_waits() {
        assert!(is_waiting(&info([5, 20, 20], 0)), "sent after the last response");
        assert!(is_waiting(&info([50, 50, 10], 0)), "in the jiffy of it, acknowledged later");
        assert!(is_waiting(&info([8, 8, 8], 1)), "in the jiffy of it, not acknowledged yet");
        assert!(!is_waiting(&info([30, 10, 10], 0)), "answered");
        assert!(!is_waiting(&info([8, 8, 8], 0)), "answered within a jiffy");
    }

    /// Reads our own connections but those of `except` until what is said of `to` is right.
    fn wait_until(
        source: &mut dyn Source,
        to: SocketAddr,
        is_right: impl Fn(Option<&Downstream>) -> bool,
    ) {
        let tree = Tree::of(std::process::id()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut due_ns = 0;
        loop {
            due_ns += SEARCH_NS;
            let data = source.read(&Round { due_ns, server: Some(Ok(&tree)) }).unwrap();
            let Data::Downstreams(all) = data else { panic!("{data:?}") };
            let found = all.iter().find(|one| one.to == to.to_string());
            if is_right(found) {
                return;
            }
            assert!(Instant::now() < deadline, "waited 30 s: {all:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until connecting is clearly in the past for `tcp_info`.
    fn wait_for_the_next_jiffy(to: SocketAddr) {
        let deadline = Instant::now() + Duration::from_secs(30);
        let is_past = |socket: &Socket| socket.tcp.is_some_and(|tcp| tcp.last_received_ms >= 20);
        loop {
            let all = sock_diag::connections_except(None, SOCKETS_MAX, &mut vec![0; CHUNK_BYTES]);
            let mut ours = all.unwrap().into_iter().filter(|one| one.remote_port == to.port());
            if ours.all(|socket| is_past(&socket)) {
                return;
            }
            assert!(Instant::now() < deadline, "waited 30 s for a jiffy");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn our_own_calls_wait_until_they_are_answered() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = service.local_addr().unwrap();
        let mut calls = [0; 3].map(|_| TcpStream::connect(to).unwrap());
        let mut accepted = [0; 3].map(|_| service.accept().unwrap().0);
        let scope = |port| Scope {
            server_pid: Some(std::process::id()),
            port: Some(port),
            ..Scope::default()
        };
        let mut source = open(&scope(1)).unwrap();
        let locals: Vec<_> = calls.iter().map(|call| call.local_addr().unwrap()).collect();
        let counts = |connections, waiting| {
            move |found: Option<&Downstream>| {
                found.is_some_and(|one| (one.connections, one.waiting) == (connections, waiting))
            }
        };
        wait_until(&mut *source, to, counts(3, 0));
        wait_for_the_next_jiffy(to);
        for call in &mut calls[..2] {
            call.write_all(b"question").unwrap();
        }
        wait_until(&mut *source, to, counts(3, 2));
        for (call, accepted) in calls.iter_mut().zip(&mut accepted).take(2) {
            accepted.read_exact(&mut [0; 8]).unwrap();
            accepted.write_all(b"answer").unwrap();
            call.read_exact(&mut [0; 6]).unwrap();
        }
        wait_until(&mut *source, to, counts(3, 0));

        for local in locals {
            // The accepted ends are among our descriptors too, but nobody here called them.
            wait_until(&mut *source, local, |found| found.is_none());
        }
        let mut source = open(&scope(to.port())).unwrap();
        wait_until(&mut *source, to, |found| found.is_none());
        drop(calls);
    }
}
