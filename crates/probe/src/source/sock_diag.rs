//! sock_diag (netlink): accept queues of listening sockets, and a sample of connections.
//!
//! The kernel is asked for TCP sockets of one state and one port and answers with a stream of
//! `inet_diag_msg`. The oldest form of the question, `TCPDIAG_GETSOCK`, is the only one that asks
//! for IPv4 and IPv6 in one walk over the table of connections. For a listener `rqueue` is the
//! connections waiting to be accepted and `wqueue` the backlog; for a connection they are bytes not
//! read and bytes not acknowledged, and an attribute holds `struct tcp_info`. Kernel:
//! `net/ipv4/inet_diag.c`, `inet_diag_dump_compat` and `inet_diag_dump_icsk`; `net/ipv4/tcp.c`,
//! `tcp_get_info`.
//!
//! Caveats. It covers only the network namespace of the calling thread. A queue of backlog 4 holds
//! 5. The kernel walks its whole connection table even if few sockets match, so connections are
//! read rarely, and only up to a limit: a dump that has given enough is abandoned by closing its
//! socket. The table is ordered by a hash, so the sample is arbitrary and stays the same while the
//! connections do; on recent kernels the client's ends are in it in the order of their ports.
//! Connections that are not accepted yet are among them. Of the client's ends, those that lead to
//! another address than the generator's are left out, where its addresses are known. `tcp_info`
//! counts the times spent limited in jiffies, and only since Linux 4.10.
//!
//! Where the kernel does not respond, and for a namespace that cannot be entered, the sockets are
//! those of `/proc/net/tcp` and `tcp6`, without what these lack: a listener's backlog is taken to
//! be somaxconn, and of connections only the two queues are reported.

use super::{Ends, Round, Scope, Source};
use crate::clock;
use crate::net_tcp::{self, Then};
use crate::netlink::{
    self, ATTRIBUTE_HEADER_BYTES, CHUNK_BYTES, Fields, MESSAGE_HEADER_BYTES, More,
};
use crate::network::Network;
use crate::process;
use crate::scan::{self, ParseError};
use crate::socket::TCP_SYN_SENT;
pub use crate::socket::{Socket, TcpInfo};
use model::facts::Unreadable;
use model::metric::Declaration;
use model::reading::{Data, Listener, SocketSample};
use model::root::Root;
use model::unit::Unit;
use model::units::NS_PER_S;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one chunk of a response held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its sockets.
    pub sockets: Vec<Socket>,
    /// Whether more follows.
    pub more: More,
}

// linux/inet_diag.h and linux/tcp.h; all part of the kernel's stable interface.
const DIAG_BYTES: usize = 72;
const TCPDIAG_GETSOCK: u16 = 18;
/// The kind of responses to a question about one family.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_SKV6ONLY: u16 = 11;
const INET_DIAG_REQ_BYTECODE: u16 = 1;
const TCP_ESTABLISHED: u32 = 1;
const TCP_LISTEN: u32 = 10;
/// States of a connection of which one end is ours: from ESTABLISHED and SYN_SENT to CLOSING,
/// except CLOSE and LISTEN.
const CONNECTED: u32 = 0b1011_0111_1110;
/// Up to and including `tcpi_sndbuf_limited`.
const TCP_INFO_BYTES: usize = 192;

/// Parses one chunk as received: consecutive netlink messages.
pub fn parse(bytes: &[u8]) -> Result<Chunk, ParseError> {
    let mut sockets = Vec::new();
    let more = netlink::messages(bytes, |kind, body| {
        if matches!(kind, TCPDIAG_GETSOCK | SOCK_DIAG_BY_FAMILY) {
            sockets.push(parse_socket(body)?);
        }
        Ok(())
    })?;
    Ok(Chunk { sockets, more })
}

fn parse_socket(body: &[u8]) -> Result<Socket, ParseError> {
    let fields = Fields(body);
    let family = i32::from(fields.take::<1>(0)?[0]);
    let address = |at: usize| match family {
        libc::AF_INET => Ok(IpAddr::V4(Ipv4Addr::from(fields.take::<4>(at)?))),
        libc::AF_INET6 => Ok(IpAddr::V6(Ipv6Addr::from(fields.take::<16>(at)?))),
        _ => Err(ParseError::new("a socket of IPv4 or IPv6", b"another family")),
    };
    let mut socket = Socket {
        cookie: u64::from(fields.u32(44)?) | u64::from(fields.u32(48)?) << 32,
        local: address(8)?,
        local_port: fields.u16_network(4)?,
        remote: address(24)?,
        remote_port: fields.u16_network(6)?,
        state: fields.take::<1>(1)?[0],
        expires_ms: fields.u32(52)?,
        receive_queue: fields.u32(56)?,
        send_queue: fields.u32(60)?,
        uid: fields.u32(64)?,
        inode: fields.u32(68)?,
        v6_only: None,
        tcp: None,
    };
    netlink::attributes(&body[DIAG_BYTES..], |kind, value| {
        match kind {
            INET_DIAG_INFO => socket.tcp = Some(parse_tcp_info(value)?),
            INET_DIAG_SKV6ONLY => socket.v6_only = value.first().map(|&flag| flag != 0),
            _ => {}
        }
        Ok(())
    })?;
    Ok(socket)
}

/// Parses `struct tcp_info`, which later kernels only extend at its end.
fn parse_tcp_info(bytes: &[u8]) -> Result<TcpInfo, ParseError> {
    if bytes.len() < TCP_INFO_BYTES {
        return Err(ParseError::new("the tcp_info of Linux 4.10 or later", b"a shorter one"));
    }
    let fields = Fields(bytes);
    Ok(TcpInfo {
        unacknowledged: fields.u32(24)?,
        last_sent_ms: fields.u32(44)?,
        last_received_ms: fields.u32(52)?,
        last_acknowledged_ms: fields.u32(56)?,
        rtt_us: fields.u32(68)?,
        received_bytes: fields.u64(128)?,
        min_rtt_us: fields.u32(148)?,
        cwnd: fields.u32(80)?,
        retransmits: fields.u32(100)?,
        busy_us: fields.u64(168)?,
        unsent: fields.u32(144)?,
        rwnd_limited_us: fields.u64(176)?,
        sndbuf_limited_us: fields.u64(184)?,
        segments_out: fields.u32(136)?,
        data_segments_out: fields.u32(156)?,
        data_segments_in: fields.u32(152)?,
    })
}

/// Which end of a connection the port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalEnd {
    Local,
    Remote,
}

/// What the figures are.
pub(super) fn listeners_declared() -> Declaration {
    Declaration::new("listeners", "sock_diag, LISTEN")
        .exposed_as("listener")
        .over("cookie")
        .max(
            "queued",
            Unit::Count,
            "Connections waiting to be accepted from a listening socket of the server.",
        )
        .max("backlog", Unit::Count, "Length that this queue may reach.")
}

/// What the figures are.
pub(super) fn connections_declared() -> Declaration {
    Declaration::new("connections", "sock_diag, ESTABLISHED")
        .many()
        .each("server_side")
        .over("cookie")
        .sum("#", Unit::Count, "Connections in the sample.")
        .mean("receive_queue", Unit::Bytes, "Bytes received and not read by the application.")
        .mean("send_queue", Unit::Bytes, "Bytes written and not acknowledged.")
        .mean("unsent", Unit::Bytes, "Bytes written and not sent yet.")
        .mean("rtt_us", Unit::Us, "Smoothed round trip.")
        .mean("cwnd", Unit::Count, "Congestion window, segments.")
        .counter("retransmits", Unit::Count, "Segments resent.")
        .counter("busy_us", Unit::Us, "Time with data outstanding.")
        .counter("rwnd_limited_us", Unit::Us, "Time limited by the window of the receiver.")
        .counter("sndbuf_limited_us", Unit::Us, "Time limited by the send buffer.")
}

/// A question to the kernel: sockets in some states with some ports, of both families.
#[derive(Debug, Clone, Copy)]
struct Question {
    /// A bit for each state.
    states: u32,
    ports: Ports,
}

/// Which sockets, by their ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ports {
    /// All.
    Any,
    /// With this port of their own.
    Local(u16),
    /// With this port at the other end.
    Remote(u16),
    /// With this port at either end.
    Either(u16),
    /// All but those accepted on this port.
    NotLocal(u16),
    /// All but those with this port at an end.
    Neither(u16),
}

const QUESTION_BYTES: usize = MESSAGE_HEADER_BYTES + 60;

impl Question {
    /// Whether a socket from another source matches the question.
    fn fits(&self, socket: &Socket) -> bool {
        let is_in_state = 1u32.checked_shl(u32::from(socket.state)).unwrap_or(0) & self.states != 0;
        is_in_state && self.ports.fit(socket)
    }

    fn encode(self) -> Vec<u8> {
        let filter = self.ports.filter();
        let mut bytes = vec![0; QUESTION_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let filter_bytes =
            filter.as_ref().map_or(0, |filter| ATTRIBUTE_HEADER_BYTES + filter.len());
        put(0, &netlink::dump_header(QUESTION_BYTES + filter_bytes, TCPDIAG_GETSOCK));
        // struct inet_diag_req from here; its family is not looked at.
        let has_info = self.states & (1 << TCP_ESTABLISHED | 1 << TCP_SYN_SENT) == self.states;
        let extensions = if has_info { 1 << (INET_DIAG_INFO - 1) } else { 0 };
        put(19, &[extensions]);
        match self.ports {
            Ports::Local(port) => put(20, &port.to_be_bytes()),
            Ports::Remote(port) => put(22, &port.to_be_bytes()),
            _ => {}
        }
        put(68, &self.states.to_ne_bytes());
        if let Some(filter) = filter {
            bytes.extend_from_slice(&(filter_bytes as u16).to_ne_bytes());
            bytes.extend_from_slice(&INET_DIAG_REQ_BYTECODE.to_ne_bytes());
            bytes.extend_from_slice(&filter);
        }
        bytes
    }
}

impl Ports {
    fn fit(self, socket: &Socket) -> bool {
        let (local, remote) = (socket.local_port, socket.remote_port);
        match self {
            Self::Any => true,
            Self::Local(port) => local == port,
            Self::Remote(port) => remote == port,
            Self::Either(port) => local == port || remote == port,
            Self::NotLocal(port) => local != port,
            Self::Neither(port) => local != port && remote != port,
        }
    }

    /// Which end of a connection that fits is ours.
    fn end(self, socket: &Socket) -> LocalEnd {
        match self {
            Self::Remote(_) => LocalEnd::Remote,
            Self::Either(port) if socket.local_port != port => LocalEnd::Remote,
            _ => LocalEnd::Local,
        }
    }

    /// A program for the kernel to run on every socket (`net/ipv4/inet_diag.c`,
    /// `inet_diag_bc_run`), where the question itself cannot say it. An instruction is a code, how
    /// far to jump when it holds, and how far when not; comparisons have the port in a second word.
    /// A jump to the end accepts the socket, one beyond it refuses it. Equality is written as two
    /// comparisons, which kernels before 5.7 know too. The kernel wants each target of a "not" to
    /// be on the path of those that hold, so a jump that always happens is one that does not hold.
    fn filter(self) -> Option<Vec<u8>> {
        const JUMP: u8 = 1;
        const SOURCE_GE: u8 = 2;
        const SOURCE_LE: u8 = 3;
        const TARGET_GE: u8 = 4;
        const TARGET_LE: u8 = 5;
        let instructions: Vec<(u8, u8, u16)> = match self {
            Self::Any | Self::Local(_) | Self::Remote(_) => return None,
            Self::Either(port) => vec![
                (SOURCE_GE, 8, 20),
                (0, 0, port),
                (SOURCE_LE, 8, 12),
                (0, 0, port),
                (JUMP, 4, 20),
                (TARGET_GE, 8, 20),
                (0, 0, port),
                (TARGET_LE, 8, 12),
                (0, 0, port),
            ],
            Self::NotLocal(port) => vec![
                (SOURCE_GE, 8, 20),
                (0, 0, port),
                (SOURCE_LE, 8, 12),
                (0, 0, port),
                (JUMP, 4, 8),
            ],
            Self::Neither(port) => vec![
                (SOURCE_GE, 8, 20),
                (0, 0, port),
                (SOURCE_LE, 8, 12),
                (0, 0, port),
                (JUMP, 4, 28),
                (TARGET_GE, 8, 20),
                (0, 0, port),
                (TARGET_LE, 8, 12),
                (0, 0, port),
                (JUMP, 4, 8),
            ],
        };
        let word = |(code, yes, no): &(u8, u8, u16)| {
            let [low, high] = no.to_ne_bytes();
            [*code, *yes, low, high]
        };
        Some(instructions.iter().flat_map(word).collect())
    }
}

/// Listening sockets beyond this many are not read; a socket per core and address is far below.
const LISTENERS_MAX: usize = 4096;
/// A sample holds at most this many connections per end, so at most 200 together.
const CONNECTIONS_PER_END_MAX: usize = 100;

/// Whether the other end has one of these addresses, or they are not known.
fn leads_to(socket: &Socket, addresses: &[IpAddr]) -> bool {
    addresses.is_empty() || addresses.contains(&socket.remote.to_canonical())
}

/// Asks the kernel; it never produces what follows after `on` had enough.
fn ask(question: Question, chunk: &mut [u8], mut on: impl FnMut(Socket) -> Then) -> io::Result<()> {
    netlink::dump(libc::NETLINK_SOCK_DIAG, &question.encode(), chunk, |bytes| {
        let response = parse(bytes)?;
        let is_enough = response.sockets.into_iter().any(|socket| on(socket) == Then::Enough);
        Ok(if is_enough { response.more.or_enough() } else { response.more })
    })
}

/// Which sockets are wanted, and how many.
struct Wanted {
    network: Network,
    question: Question,
    /// Sockets per end.
    each_max: usize,
    /// Where connections of the client lead; empty when that is not known.
    addresses: Vec<IpAddr>,
}

/// Sockets that were found, and at which of their ends the port is.
#[derive(Default)]
struct Found {
    sockets: Vec<(LocalEnd, Socket)>,
    /// How many have the port at their own end, and at the other.
    each: [usize; 2],
    /// Sockets that were looked at.
    seen: usize,
}

/// Where both ends are here and one of them fills its part much later, it is asked for alone.
const SEEN_PER_WANTED: usize = 10;

impl Wanted {
    fn new(network: Network, states: u32, ports: Ports, each_max: usize) -> Self {
        Self { network, question: Question { states, ports }, each_max, addresses: Vec::new() }
    }

    fn read(&self, chunk: &mut [u8]) -> Result<Vec<(LocalEnd, Socket)>, Unreadable> {
        let mut found = self.read_about(self.question, chunk)?;
        if let Ports::Either(port) = self.question.ports
            && found.seen >= self.seen_max()
        {
            let alone = [Ports::Local(port), Ports::Remote(port)].into_iter().zip(found.each);
            for (ports, _) in alone.filter(|(_, count)| *count < self.each_max) {
                let more = self.read_about(Question { ports, ..self.question }, chunk)?;
                let end = more.sockets.first().map(|(end, _)| *end);
                found.sockets.retain(|(other, _)| Some(*other) != end);
                found.sockets.extend(more.sockets);
            }
        }
        Ok(found.sockets)
    }

    fn seen_max(&self) -> usize {
        self.each_max.saturating_mul(SEEN_PER_WANTED)
    }

    /// The kernel's response or, where there is none, the content of its files.
    fn read_about(&self, question: Question, chunk: &mut [u8]) -> Result<Found, Unreadable> {
        if !self.network.is_ours() || is_missing() {
            return self.read_files(question);
        }
        let mut found = Found::default();
        match ask(question, chunk, |socket| self.take(question.ports, &mut found, socket)) {
            Ok(()) => Ok(found),
            Err(why) => {
                remember_missing(&why);
                let missing = Unreadable { source: "sock_diag".into(), why: reason(&why) };
                self.read_files(question).map_err(|_| missing)
            }
        }
    }

    /// Answers the question from `/proc/net/tcp` and `tcp6`.
    fn read_files(&self, question: Question) -> Result<Found, Unreadable> {
        let is_listening = question.states == 1 << TCP_LISTEN;
        let mut found = Found::default();
        for name in ["tcp", "tcp6"] {
            let file = self.network.file(&Root::default(), name);
            let read = net_tcp::each(&file, |socket| {
                // The file has all listeners first.
                if is_listening && u32::from(socket.state) != TCP_LISTEN {
                    return Then::Enough;
                }
                match question.fits(&socket) {
                    true => self.take(question.ports, &mut found, socket),
                    false => Then::More,
                }
            });
            match read {
                // IPv6 may be switched off.
                Err(_) if name == "tcp6" => {}
                read => read?,
            }
        }
        Ok(found)
    }

    /// Keeps a socket if it is wanted.
    fn take(&self, ports: Ports, found: &mut Found, socket: Socket) -> Then {
        let end = ports.end(&socket);
        found.seen += 1;
        let count = &mut found.each[end as usize];
        if *count < self.each_max && (end == LocalEnd::Local || leads_to(&socket, &self.addresses))
        {
            *count += 1;
            found.sockets.push((end, socket));
        }
        let is_full = |end: LocalEnd| found.each[end as usize] >= self.each_max;
        let is_enough = match ports {
            Ports::Either(_) => {
                let are_full = is_full(LocalEnd::Local) && is_full(LocalEnd::Remote);
                are_full || found.seen >= self.seen_max()
            }
            Ports::Remote(_) => is_full(LocalEnd::Remote),
            _ => is_full(LocalEnd::Local),
        };
        if is_enough { Then::Enough } else { Then::More }
    }
}

/// When a kernel without sock_diag is asked again, monotonic nanoseconds. Each question makes such
/// a kernel start a program that looks for a module.
static MISSING_UNTIL_NS: AtomicU64 = AtomicU64::new(0);
/// How long it is not asked.
const MISSING_NS: u64 = 60 * NS_PER_S;

fn is_missing() -> bool {
    clock::monotonic_ns() < MISSING_UNTIL_NS.load(Ordering::Relaxed)
}

/// Whether the kernel has no module for the question: inet_diag, or tcp_diag where that is there.
fn is_no_module(why: &io::Error) -> bool {
    matches!(why.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOENT))
}

fn remember_missing(why: &io::Error) {
    if is_no_module(why) {
        MISSING_UNTIL_NS.store(clock::monotonic_ns() + MISSING_NS, Ordering::Relaxed);
    }
}

/// Asks a question that every kernel with sock_diag responds to.
fn try_once() -> io::Result<()> {
    if is_missing() {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    let question = Question { states: 1 << TCP_LISTEN, ports: Ports::Any };
    ask(question, &mut vec![0; CHUNK_BYTES], |_| Then::Enough)
}

/// Why sockets are read from files, and what is missing then; nothing where sock_diag responds.
pub(crate) fn lost() -> Option<Unreadable> {
    let why = try_once().inspect_err(remember_missing).err()?;
    let why = format!(
        "{}; sockets are those of /proc/net/tcp and tcp6, without lengths of accept queues \
         (somaxconn is assumed), times, windows and limits of connections, and without calls of \
         the server to other services",
        reason(&why)
    );
    Some(Unreadable { source: "sock_diag".into(), why })
}

/// A kernel that has no module for the question reports only that it does not support it, or that
/// there is no such file.
fn reason(error: &io::Error) -> String {
    if is_no_module(error) {
        return "this kernel has no inet_diag; where it is a module, modprobe tcp_diag loads it"
            .into();
    }
    error.to_string()
}

/// All listening sockets on a port, of both families.
pub(crate) fn listening(network: Network, port: u16) -> Result<Vec<Socket>, Unreadable> {
    everything(network, 1 << TCP_LISTEN, Ports::Local(port))
}

/// All listening sockets of a network namespace.
pub(crate) fn all_listening(network: Network) -> Result<Vec<Socket>, Unreadable> {
    everything(network, 1 << TCP_LISTEN, Ports::Any)
}

/// All connections whose other end has this port, those in TIME_WAIT included.
pub(crate) fn connected_to(port: u16) -> Result<Vec<Socket>, Unreadable> {
    everything(Network::Shared, CONNECTED, Ports::Remote(port))
}

fn everything(network: Network, states: u32, ports: Ports) -> Result<Vec<Socket>, Unreadable> {
    let found = Wanted::new(network, states, ports, usize::MAX).read(&mut vec![0; CHUNK_BYTES])?;
    Ok(found.into_iter().map(|(_, socket)| socket).collect())
}

/// At most `count_max` connections of this network namespace that are established or being opened.
/// Only sock_diag shows whether they wait.
pub(super) fn opened(
    ports: Ports,
    count_max: usize,
    chunk: &mut [u8],
) -> Result<Vec<Socket>, Unreadable> {
    let states = 1 << TCP_ESTABLISHED | 1 << TCP_SYN_SENT;
    let refused = |why: &io::Error| Unreadable { source: "sock_diag".into(), why: reason(why) };
    if is_missing() {
        return Err(refused(&io::Error::from_raw_os_error(libc::EOPNOTSUPP)));
    }
    let mut sockets = Vec::new();
    let asked = ask(Question { states, ports }, chunk, |socket| {
        sockets.push(socket);
        if sockets.len() >= count_max { Then::Enough } else { Then::More }
    });
    asked.inspect_err(remember_missing).map_err(|why| refused(&why))?;
    Ok(sockets)
}

struct Listeners {
    wanted: Wanted,
    chunk: Vec<u8>,
}

struct Connections {
    wanted: Wanted,
    chunk: Vec<u8>,
}

pub(super) fn listeners(scope: &Scope) -> Option<Box<dyn Source>> {
    let network = scope.network;
    // A listener here is not the server when the server is in another namespace.
    if scope.ends == Ends::Client || network == Network::Apart {
        return None;
    }
    let ports = Ports::Local(scope.port?);
    let wanted = Wanted::new(network, 1 << TCP_LISTEN, ports, LISTENERS_MAX);
    Some(Box::new(Listeners { wanted, chunk: vec![0; CHUNK_BYTES] }))
}

pub(super) fn connections(scope: &Scope) -> Option<Box<dyn Source>> {
    let (network, port) = (scope.network, scope.port?);
    let ports = match network {
        Network::Shared => Ports::Either(port),
        // A listener with the port here can only be a proxy.
        Network::Apart => Ports::Remote(port),
        Network::Entered | Network::Outside(_) => Ports::Local(port),
    };
    let wanted = Wanted::new(network, 1 << TCP_ESTABLISHED, ports, CONNECTIONS_PER_END_MAX);
    // The kernel leads a connection to any address to one of its own choice.
    let is_known = !scope.addresses.iter().any(IpAddr::is_unspecified);
    let known = scope.addresses.iter().filter(|_| is_known).map(IpAddr::to_canonical);
    let wanted = Wanted { addresses: known.collect(), ..wanted };
    Some(Box::new(Connections { wanted, chunk: vec![0; CHUNK_BYTES] }))
}

impl Source for Listeners {
    fn read(&mut self, _: &Round<'_>) -> Result<Data, Unreadable> {
        let sockets = self.wanted.read(&mut self.chunk)?;
        // Only sock_diag reports backlogs and cookies.
        let needs_limit = sockets.iter().any(|(_, socket)| socket.cookie == 0);
        let limit = if needs_limit && self.wanted.network.is_ours() { somaxconn() } else { None };
        let limit = limit.unwrap_or(SOMAXCONN);
        let listener = |(_, socket): &(LocalEnd, Socket)| Listener {
            cookie: if socket.cookie == 0 { u64::from(socket.inode) } else { socket.cookie },
            queued: socket.receive_queue,
            backlog: if socket.cookie == 0 { limit } else { socket.send_queue },
        };
        Ok(Data::Listeners(sockets.iter().map(listener).collect()))
    }
}

/// The default of Linux (since 5.4).
const SOMAXCONN: u32 = 4096;

fn somaxconn() -> Option<u32> {
    let path = Path::new("/proc/sys/net/core/somaxconn");
    let number = |bytes: &[u8]| {
        let number = scan::number(bytes.trim_ascii()).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| ParseError::new("a number", bytes))
    };
    process::read(path, number).ok()
}

impl Source for Connections {
    fn read(&mut self, _: &Round<'_>) -> Result<Data, Unreadable> {
        let sockets = self.wanted.read(&mut self.chunk)?;
        let connections = sockets.iter().filter_map(|(end, socket)| connection(socket, *end));
        Ok(Data::Connections(connections.collect()))
    }
}

/// A socket that closed between being found and being described has no `tcp_info` and is left out.
/// Files have the queues of all.
fn connection(socket: &Socket, end: LocalEnd) -> Option<SocketSample> {
    let server_side = end == LocalEnd::Local;
    if socket.cookie == 0 {
        let (receive_queue, send_queue) = (socket.receive_queue, socket.send_queue);
        return Some(SocketSample {
            server_side,
            receive_queue,
            send_queue,
            ..SocketSample::default()
        });
    }
    let tcp = socket.tcp?;
    Some(SocketSample {
        cookie: socket.cookie,
        server_side,
        receive_queue: socket.receive_queue,
        send_queue: socket.send_queue,
        unsent: tcp.unsent,
        rtt_us: tcp.rtt_us,
        min_rtt_us: tcp.min_rtt_us,
        cwnd: tcp.cwnd,
        retransmits: tcp.retransmits,
        busy_us: tcp.busy_us,
        rwnd_limited_us: tcp.rwnd_limited_us,
        sndbuf_limited_us: tcp.sndbuf_limited_us,
    })
}

// The fixtures are messages in the byte order of the machine they were taken on.
#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;
    use crate::testing::fixture;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_full_accept_queue_holds_one_more_than_its_backlog() {
        let chunk = parse(&fixture("linux-6.18-vm/diag_listen_v4")).unwrap();
        let [listener] = &chunk.sockets[..] else { panic!("{chunk:?}") };
        assert_eq!(listener.local, IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert_eq!((listener.local_port, listener.remote_port), (8080, 0));
        assert_eq!((listener.receive_queue, listener.send_queue), (5, 4));
        assert!(listener.cookie != 0 && listener.inode != 0);
        assert_eq!((listener.v6_only, listener.tcp), (None, None));
        assert_eq!(chunk.more, More::Nothing);
    }

    #[test]
    fn an_ipv6_listener_says_whether_it_takes_ipv4() {
        let chunk = parse(&fixture("linux-6.18-vm/diag_listen_v6")).unwrap();
        assert_eq!(chunk.sockets.len(), 1);
        assert_eq!(chunk.sockets[0].local, IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        assert_eq!(chunk.sockets[0].v6_only, Some(true));
    }

    #[test]
    fn connections_have_their_tcp_info() {
        let chunk = parse(&fixture("linux-6.18-vm/diag_established")).unwrap();
        assert_eq!(chunk.sockets.len(), 5);
        // One was accepted and has moved data; the others still wait and have none.
        let moved: Vec<SocketSample> = chunk
            .sockets
            .iter()
            .filter_map(|socket| connection(socket, LocalEnd::Local))
            .filter(|connection| connection.busy_us > 0)
            .collect();
        let [moved] = &moved[..] else { panic!("{moved:?}") };
        assert!(moved.server_side);
        assert_eq!((moved.receive_queue, moved.send_queue), (5, 0));
        assert_eq!((moved.cwnd, moved.rtt_us, moved.retransmits), (18, 5891, 0));
        assert_eq!(moved.busy_us, 44_000);
    }

    #[test]
    fn a_refusal_has_its_errno() {
        let chunk = parse(&fixture("linux-6.18-vm/diag_refused")).unwrap();
        assert_eq!((chunk.sockets.len(), chunk.more), (0, More::Refused(libc::EINVAL)));
    }

    #[test]
    fn limited_times_have_their_own_offsets() {
        let mut bytes = [0; TCP_INFO_BYTES];
        (bytes[100], bytes[168], bytes[176], bytes[184]) = (1, 2, 3, 4);
        let tcp = parse_tcp_info(&bytes).unwrap();
        assert_eq!((tcp.retransmits, tcp.busy_us), (1, 2));
        assert_eq!((tcp.rwnd_limited_us, tcp.sndbuf_limited_us), (3, 4));
    }

    #[test]
    fn an_older_tcp_info_is_refused_rather_than_filled_with_zeros() {
        let error = parse_tcp_info(&[0; 104]).unwrap_err();
        assert!(error.to_string().contains("4.10"), "{error}");
    }

    #[test]
    fn no_more_sockets_than_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pair = |_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap());
        let pairs: Vec<_> = (0..300).map(pair).collect();
        let scope = Scope { port: Some(address.port()), ..Scope::default() };
        let round = Round { due_ns: 0, server: None };
        let count = |network| {
            let scope = Scope { network, ..scope.clone() };
            let reading = connections(&scope).unwrap().read(&round).unwrap();
            let Data::Connections(sample) = reading else { panic!("{reading:?}") };
            let server_side = sample.iter().filter(|connection| connection.server_side).count();
            (sample.len(), server_side)
        };
        assert_eq!(count(Network::Shared), (200, 100));
        assert_eq!(count(Network::Apart), (100, 0), "the server is elsewhere");
        assert_eq!(count(Network::Outside(std::process::id())), (100, 100), "from files");
        drop(pairs);
    }

    #[test]
    fn connections_to_the_same_port_of_another_address_are_not_of_the_load() {
        let meant = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = meant.local_addr().unwrap();
        let other = TcpListener::bind(("127.0.0.2", address.port())).unwrap();
        let to = |listener: &TcpListener| TcpStream::connect(listener.local_addr().unwrap());
        let ours = [0; 2].map(|_| to(&meant).unwrap());
        let foreign = [0; 120].map(|_| to(&other).unwrap());
        let clients = |addresses: &[&str]| {
            let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
            let scope = Scope { port: Some(address.port()), addresses, ..Scope::default() };
            let reading = connections(&scope).unwrap().read(&Round { due_ns: 0, server: None });
            let Ok(Data::Connections(sample)) = reading else { panic!("{reading:?}") };
            sample.iter().filter(|connection| !connection.server_side).count()
        };
        assert_eq!(clients(&["127.0.0.1"]), 2);
        assert_eq!(clients(&["::ffff:127.0.0.1", "192.0.2.1"]), 2);
        assert_eq!(clients(&["192.0.2.1"]), 0);
        assert_eq!((clients(&[]), clients(&["0.0.0.0"])), (100, 100), "not known: all to the port");
        drop((ours, foreign));
    }

    /// One connection of the load among a hundred others to the port: it is hardly ever one of the
    /// first ten that the kernel reports.
    #[test]
    fn an_end_that_comes_late_is_asked_for_alone() {
        let meant = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = meant.local_addr().unwrap().port();
        let other = TcpListener::bind(("127.0.0.2", port)).unwrap();
        let to = |listener: &TcpListener| TcpStream::connect(listener.local_addr().unwrap());
        let foreign = [0; 120].map(|_| to(&other).unwrap());
        let ours = to(&meant).unwrap();
        let wanted = Wanted::new(Network::Shared, 1 << TCP_ESTABLISHED, Ports::Either(port), 1);
        let wanted = Wanted { addresses: vec![Ipv4Addr::LOCALHOST.into()], ..wanted };
        let found = wanted.read(&mut vec![0; CHUNK_BYTES]).unwrap();
        let count = |end| found.iter().filter(|(at, _)| *at == end).count();
        assert_eq!((count(LocalEnd::Local), count(LocalEnd::Remote)), (1, 1));
        drop((foreign, ours));
    }

    #[test]
    fn files_tell_listeners_and_their_queues() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let waiting: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let outside = Network::Outside(std::process::id());
        let found = super::listening(outside, address.port()).unwrap();
        let [from_file] = &found[..] else { panic!("{found:?}") };
        let told = super::listening(Network::Shared, address.port()).unwrap();
        assert_eq!((from_file.inode, from_file.local), (told[0].inode, told[0].local));
        assert_eq!((from_file.receive_queue, told[0].receive_queue), (3, 3));
        assert!(all_listening(outside).unwrap().iter().any(|one| one.inode == from_file.inode));
        let scope = Scope { port: Some(address.port()), network: outside, ..Scope::default() };
        let reading = listeners(&scope).unwrap().read(&Round { due_ns: 0, server: None });
        let Ok(Data::Listeners(read)) = reading else { panic!("{reading:?}") };
        assert_eq!((read.len(), read[0].queued, read[0].backlog), (1, 3, SOMAXCONN));
        drop(waiting);
    }
}
