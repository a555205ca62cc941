//! sock_diag, unix_diag and `/proc/PID/fd`: connections that the server itself opened to other
//! services.
//!
//! The kernel is asked for connections that were not accepted on the port under test, established
//! or being opened (SYN_SENT), and for unix sockets; those whose inode is among the descriptors of
//! the server's processes are counted by the address of the other end. A TCP connection waits when
//! the server sent last (`calls.rs`). A unix connection waits while the other end has not accepted
//! it or not read what was sent, and, where each connection to that path lives for one request,
//! while it is open.
//!
//! Caveats. Where the generator is on the same host, its connections are left out by their port,
//! and so are those of a proxy to an upstream that listens on the same port number as the proxy. It
//! covers only the network namespace of the calling thread. Connections whose local port a process
//! listens on were accepted, not opened, and are left out. Descriptors are searched only when a
//! connection is new, at most once a second, and only up to a limit; until then a new connection
//! counts as the server's where most of those to its address were its own. One that is not found
//! is searched for again, because the process that opened it may be too new to be known. On a host
//! with more sockets of either kind than a limit nothing is reported: those beyond it may be the
//! server's. Standard streams are left out: a journal reads them. A unix connection that is kept
//! open does not show that it waits once the other end has read everything.

use super::sock_diag::{self, Ports, Socket, TcpInfo};
use super::{Round, Scope, Source};
use crate::calls::Call;
use crate::netlink::CHUNK_BYTES;
use crate::network::Network;
use crate::socket;
use crate::unix_diag::{self, UnixSocket};
use model::facts::Unreadable;
use model::maps::IntoMap;
use model::metric::Declaration;
use model::order::OrderBy as _;
use model::reading::{Data, Downstream};
use model::root::Root;
use model::unit::Unit;
use model::units::NS_PER_S;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// Most connections that are read, of TCP and of unix sockets each.
const SOCKETS_MAX: usize = 8192;
/// Most other ends that are reported, those with most connections first.
const DOWNSTREAMS_MAX: usize = 64;
/// How often descriptors may be searched.
const SEARCH_NS: u64 = NS_PER_S;
/// A connection that no known process holds after this time is that of another program: by then
/// new processes of the server are known.
const FOREIGN_NS: u64 = 3 * NS_PER_S;
/// A connection that is closed sooner than this was made for one request.
const SHORT_NS: u64 = 5 * NS_PER_S;
/// Other ends in another network namespace, which have no name here.
const UNNAMED: &str = "(in another namespace)";

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new("downstreams", "sock_diag, unix_diag and /proc/PID/fd")
        .each("to")
        .mean("connections", Unit::Count, "Connections that the server opened to another service.")
        .mean("waiting", Unit::Count, "Connections that wait for a response.")
        .mean("opening", Unit::Count, "Connections being opened.")
        .mean("rtt_us", Unit::Us, "Smoothed round trip.")
}

/// A connection that a process on this host opened.
struct Connection {
    inode: u32,
    to: String,
    /// The port it was opened from, of TCP.
    from: Option<u16>,
    state: State,
}

enum State {
    Opening,
    Tcp(Box<TcpInfo>),
    /// Of a unix socket: the other end has not accepted it or not read all.
    Unread,
    /// Of a unix socket: the other end has read all.
    Read,
}

/// What is known of a connection from earlier rounds.
struct Known {
    to: String,
    is_ours: bool,
    /// Whether descriptors showed whose it is.
    is_sure: bool,
    since_ns: u64,
    call: Option<Call>,
}

/// What is known of an address from earlier rounds.
#[derive(Default)]
struct Place {
    /// Connections to it when descriptors were searched: those of the server, and all.
    ours: usize,
    all: usize,
    /// Connections of the server to it that were closed soon.
    short: u32,
}

struct Downstreams {
    root: Root,
    ports: Ports,
    sockets_max: usize,
    known: BTreeMap<u32, Known>,
    places: BTreeMap<String, Place>,
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
        ports: match scope.port {
            None => Ports::Any,
            // The generator may have more connections than are read.
            Some(port) if scope.has_client() => Ports::Neither(port),
            Some(port) => Ports::NotLocal(port),
        },
        sockets_max: SOCKETS_MAX,
        known: BTreeMap::new(),
        places: BTreeMap::new(),
        search_due_ns: 0,
        chunk: vec![0; CHUNK_BYTES],
    }))
}

impl Source for Downstreams {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let pids = round.server()?.pids();
        // One more than the limit shows that it was reached.
        let most = self.sockets_max + 1;
        let sockets = sock_diag::opened(self.ports, most, &mut self.chunk)?;
        self.check("sock_diag", "TCP connections", sockets.len())?;
        // A kernel without unix_diag reports TCP alone.
        let streams = unix_diag::streams(most, &mut self.chunk).unwrap_or_default();
        self.check("unix_diag", "unix sockets", streams.len())?;
        let mut all: Vec<Connection> = sockets.iter().filter_map(of_tcp).collect();
        all.extend(of_unix(&streams));
        self.forget(&all, round.due_ns);
        self.learn(&all, pids, round.due_ns)?;
        Ok(Data::Downstreams(self.count(&all, round.due_ns)))
    }
}

impl Downstreams {
    /// Refuses a list that is not whole: the connections that are missing may be the server's.
    fn check(&self, source: &str, what: &str, found: usize) -> Result<(), Unreadable> {
        let limit = self.sockets_max;
        if found <= limit {
            return Ok(());
        }
        // The text does not change between reads, so that each window reports it once.
        let why = format!(
            "more than {limit} {what}, the limit: too many to find all that the server opened"
        );
        Err(Unreadable { source: source.to_string(), why })
    }

    /// Forgets connections that were closed.
    fn forget(&mut self, all: &[Connection], now_ns: u64) {
        let open: BTreeSet<u32> = all.iter().map(|one| one.inode).collect();
        let places = &mut self.places;
        self.known.retain(|inode, known| {
            let is_open = open.contains(inode);
            let is_short = now_ns.saturating_sub(known.since_ns) < SHORT_NS;
            if !is_open && known.is_ours && is_short {
                places.entry(known.to.clone()).or_default().short += 1;
            }
            is_open
        });
    }

    /// Finds out which new connections are the server's.
    fn learn(&mut self, all: &[Connection], pids: &[u32], now_ns: u64) -> Result<(), Unreadable> {
        for one in all {
            let is_ours = self.places.get(&one.to).is_some_and(|it| 2 * it.ours > it.all);
            let to = one.to.clone();
            let new = Known { to, is_ours, is_sure: false, since_ns: now_ns, call: None };
            self.known.entry(one.inode).or_insert(new);
        }
        if self.known.values().all(|known| known.is_sure) || now_ns < self.search_due_ns {
            return Ok(());
        }
        self.search_due_ns = now_ns + SEARCH_NS;
        let held = self.search(pids)?;
        let listening = sock_diag::all_listening(Network::Shared)?;
        let listening: BTreeSet<u16> = listening.iter().map(|socket| socket.local_port).collect();
        self.places.values_mut().for_each(|place| (place.ours, place.all) = (0, 0));
        for one in all {
            let was_accepted = one.from.is_some_and(|port| listening.contains(&port));
            let Some(known) = self.known.get_mut(&one.inode) else { continue };
            if !known.is_sure {
                known.is_ours = held.contains(&one.inode) && !was_accepted;
                let is_old = now_ns.saturating_sub(known.since_ns) >= FOREIGN_NS;
                known.is_sure = known.is_ours || was_accepted || is_old;
            }
            let place = self.places.entry(one.to.clone()).or_default();
            place.ours += usize::from(known.is_ours);
            place.all += 1;
        }
        // Each client of another service on this host has an address of its own.
        self.places.retain(|_, place| place.all > 0 || place.short > 0);
        Ok(())
    }

    /// Inodes of the sockets that the processes hold, except their standard streams, which carry
    /// the log.
    fn search(&self, pids: &[u32]) -> Result<BTreeSet<u32>, Unreadable> {
        let held = socket::held(&self.root, pids)?;
        let inodes = |are_streams: bool| -> BTreeSet<u32> {
            let of_kind = held.iter().filter(|held| held.is_stream == are_streams);
            of_kind.map(|held| held.inode).collect()
        };
        Ok(inodes(false).difference(&inodes(true)).copied().collect())
    }

    /// Counts the server's connections by their other end.
    fn count(&mut self, all: &[Connection], now_ns: u64) -> Vec<Downstream> {
        let mut groups = BTreeMap::<&str, Group>::new();
        for one in all {
            let Some(known) = self.known.get_mut(&one.inode).filter(|known| known.is_ours) else {
                continue;
            };
            let group = groups.entry(&one.to).or_default();
            match &one.state {
                State::Opening => group.opening += 1,
                State::Tcp(tcp) => {
                    let call = Call::of(tcp, now_ns, known.call.as_ref());
                    group.add(tcp, call);
                    known.call = Some(call);
                }
                State::Unread => group.unread += 1,
                State::Read if now_ns.saturating_sub(known.since_ns) < SHORT_NS => group.young += 1,
                State::Read => group.old += 1,
            }
        }
        let short = |to: &str| self.places.get(to).map_or(0, |place| place.short);
        let mut downstreams: Vec<Downstream> =
            groups.into_iter().map(|(to, group)| group.finish(to, short(to))).collect();
        downstreams.order_by_key(|one| std::cmp::Reverse(one.connections + one.opening));
        downstreams.truncate(DOWNSTREAMS_MAX);
        downstreams
    }
}

/// The server's connections to one other end.
#[derive(Default)]
struct Group {
    opening: u32,
    tcp: u32,
    rtt_sum_us: u64,
    /// Time since bytes came in, of those that wait.
    heard_ms: Vec<u32>,
    /// Unix sockets: with something that was not read; otherwise those open for a short time, and
    /// for longer.
    unread: u32,
    young: u32,
    old: u32,
}

impl Group {
    fn add(&mut self, tcp: &TcpInfo, call: Call) {
        self.tcp += 1;
        self.rtt_sum_us += u64::from(tcp.rtt_us);
        if call.waits {
            self.heard_ms.push(tcp.last_received_ms);
        }
    }

    /// `short` connections to this end were closed soon.
    fn finish(mut self, to: &str, short: u32) -> Downstream {
        self.heard_ms.sort_unstable();
        let of_unix = self.unread + self.young + self.old;
        let for_a_request = if short >= of_unix { self.young } else { 0 };
        Downstream {
            to: to.to_string(),
            connections: self.tcp + of_unix,
            waiting: self.heard_ms.len() as u32 + self.unread + for_a_request,
            opening: self.opening,
            rtt_us: (self.rtt_sum_us / u64::from(self.tcp.max(1))) as u32,
            heard_ms: self.heard_ms.get(self.heard_ms.len() / 2).copied(),
        }
    }
}

fn of_tcp(socket: &Socket) -> Option<Connection> {
    let state = match socket.tcp {
        _ if socket.is_opening() => State::Opening,
        Some(tcp) => State::Tcp(Box::new(tcp)),
        None => return None,
    };
    let to = SocketAddr::new(socket.remote.to_canonical(), socket.remote_port).to_string();
    Some(Connection { inode: socket.inode, to, from: Some(socket.local_port), state })
}

/// Connections that were opened to a name. The accepted end has the name, the other has none;
/// neither end of a socket pair has one.
fn of_unix(streams: &[UnixSocket]) -> Vec<Connection> {
    let by_inode: BTreeMap<u32, &UnixSocket> =
        streams.iter().map(|socket| (socket.inode, socket)).into_map();
    let mut pending = BTreeMap::new();
    for listener in streams {
        pending.extend(listener.pending.iter().map(|inode| (*inode, listener.name.as_deref())));
    }
    let opened = streams.iter().filter(|socket| !socket.listens && socket.name.is_none());
    let connection = |socket: &UnixSocket| {
        let waits_for = pending.get(&socket.inode);
        let there = by_inode.get(&socket.peer?);
        let name = match (waits_for, there) {
            (Some(name), _) => name.unwrap_or(UNNAMED),
            (None, Some(there)) => there.name.as_deref()?,
            (None, None) => UNNAMED,
        };
        let is_unread = waits_for.is_some() || socket.peer == Some(0) || socket.unread_there > 0;
        let state = if is_unread { State::Unread } else { State::Read };
        Some(Connection { inode: socket.inode, to: format!("unix:{name}"), from: None, state })
    };
    opened.filter_map(connection).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Ends;
    use crate::testing::Child;
    use crate::tree::Tree;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::Command;
    use std::time::{Duration, Instant};

    /// Reads our own connections except those of `except` until the result for `to` is right.
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
            let all = sock_diag::opened(Ports::Any, SOCKETS_MAX, &mut vec![0; CHUNK_BYTES]);
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
        // A proxy and its upstream may have the same port number; the generator is elsewhere.
        let scope = Scope { ends: Ends::Server, ..scope(to.port()) };
        let mut source = open(&scope).unwrap();
        wait_until(&mut *source, to, |found| found.is_some_and(|one| one.connections == 3));
        let accepted = Ports::NotLocal(to.port());
        let all = sock_diag::opened(accepted, SOCKETS_MAX, &mut vec![0; CHUNK_BYTES]).unwrap();
        assert!(all.iter().all(|socket| socket.local_port != to.port()));
        drop(calls);
    }

    #[test]
    fn calls_over_unix_sockets_wait_until_they_are_read() {
        let path = std::env::temp_dir().join(format!("probe-calls-{}", std::process::id()));
        let service = UnixListener::bind(&path).unwrap();
        let scope = Scope { server_pid: Some(std::process::id()), ..Scope::default() };
        let mut source = open(&scope).unwrap();
        let tree = Tree::of(std::process::id()).unwrap();
        let to = format!("unix:{}", path.display());
        let mut due_ns = 0;
        let mut read = || {
            due_ns += SEARCH_NS;
            let data = source.read(&Round { due_ns, server: Some(Ok(&tree)) }).unwrap();
            let Data::Downstreams(all) = data else { panic!("{data:?}") };
            let found = all.into_iter().find(|one| one.to == to);
            found.map(|one| (one.connections, one.waiting))
        };
        assert_eq!(read(), None);
        let mut kept = UnixStream::connect(&path).unwrap();
        assert_eq!(read(), Some((1, 1)), "not accepted");
        let mut accepted = service.accept().unwrap().0;
        assert_eq!(read(), Some((1, 0)));
        kept.write_all(b"question").unwrap();
        assert_eq!(read(), Some((1, 1)), "not read");
        accepted.read_exact(&mut [0; 8]).unwrap();
        assert_eq!(read(), Some((1, 0)), "read: what it waits for does not show");
        let short =
            [0; 2].map(|_| (UnixStream::connect(&path).unwrap(), service.accept().unwrap()));
        assert_eq!(read(), Some((3, 0)));
        drop(short);
        assert_eq!(read(), Some((1, 0)));
        let next = (UnixStream::connect(&path).unwrap(), service.accept().unwrap());
        assert_eq!(read(), Some((2, 1)), "connections live for one request");
        drop((next, kept, accepted));
        std::fs::remove_file(&path).unwrap();
    }

    fn limited_to(sockets_max: usize) -> Downstreams {
        Downstreams {
            root: Root::default(),
            ports: Ports::Any,
            sockets_max,
            known: BTreeMap::new(),
            places: BTreeMap::new(),
            search_due_ns: 0,
            chunk: vec![0; CHUNK_BYTES],
        }
    }

    #[test]
    fn a_list_that_is_not_whole_is_unreadable() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let calls = [0; 2].map(|_| TcpStream::connect(service.local_addr().unwrap()).unwrap());
        let tree = Tree::of(std::process::id()).unwrap();
        let why = limited_to(3)
            .read(&Round { due_ns: SEARCH_NS, server: Some(Ok(&tree)) })
            .expect_err("both ends of two connections");
        assert_eq!(why.source, "sock_diag");
        assert!(why.why.starts_with("more than 3 TCP connections"), "{why:?}");
        let whole = limited_to(4);
        assert_eq!(whole.check("unix_diag", "unix sockets", 4), Ok(()));
        assert!(whole.check("unix_diag", "unix sockets", 5).is_err());
        drop(calls);
    }

    #[test]
    fn a_call_of_a_process_that_is_not_known_yet_counts_once_it_is() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let call = TcpStream::connect(service.local_addr().unwrap()).unwrap();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", call.as_raw_fd())).unwrap();
        let inode = socket::socket_inode(&link).unwrap();
        let to = "192.0.2.7:1".to_string();
        let all = [Connection { inode, to, from: None, state: State::Read }];
        let mut downstreams = limited_to(SOCKETS_MAX);
        let mut learn = |pids: &[u32], now_ns| {
            downstreams.learn(&all, pids, now_ns).unwrap();
            let known = &downstreams.known[&inode];
            (known.is_ours, known.is_sure)
        };
        // The process was started a moment ago: the tree is that of a moment before.
        assert_eq!(learn(&[], SEARCH_NS), (false, false));
        assert_eq!(learn(&[std::process::id()], 2 * SEARCH_NS), (true, true));
        let mut downstreams = limited_to(SOCKETS_MAX);
        for now_ns in [SEARCH_NS, SEARCH_NS + FOREIGN_NS] {
            downstreams.learn(&all, &[], now_ns).unwrap();
        }
        let known = &downstreams.known[&inode];
        assert_eq!((known.is_ours, known.is_sure), (false, true), "that of another program");
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let mut downstreams = limited_to(SOCKETS_MAX);
        for round in 1..=3 {
            let to = format!("192.0.2.7:{round}");
            let all = [Connection { inode: round, to, from: None, state: State::Read }];
            let now_ns = u64::from(round) * SEARCH_NS;
            downstreams.forget(&all, now_ns);
            downstreams.learn(&all, &[], now_ns).unwrap();
        }
        let left: Vec<&str> = downstreams.places.keys().map(String::as_str).collect();
        assert_eq!(left, ["192.0.2.7:3"]);
    }

    #[test]
    fn the_standard_streams_of_a_process_are_no_calls() {
        let path = std::env::temp_dir().join(format!("probe-stream-{}", std::process::id()));
        let journal = UnixListener::bind(&path).unwrap();
        let mut sleep = Command::new("sleep");
        sleep.arg("60").stdout(OwnedFd::from(UnixStream::connect(&path).unwrap()));
        let child = Child::spawn(&mut sleep);
        drop(sleep);
        let scope = Scope { server_pid: Some(child.id()), ..Scope::default() };
        let tree = Tree::of(child.id()).unwrap();
        let round = Round { due_ns: SEARCH_NS, server: Some(Ok(&tree)) };
        let data = open(&scope).unwrap().read(&round).unwrap();
        assert_eq!(data, Data::Downstreams(Vec::new()));
        drop(journal);
        std::fs::remove_file(&path).unwrap();
    }
}
