//! sock_diag and `/proc/PID/fd`: how the connections to the port under test are spread over the
//! server's processes, and how many bytes came in on them.
//!
//! The kernel is asked for the established connections of the port. The inode of each is among the
//! descriptors of the process that accepted it, and its `tcp_info` counts what it received
//! (`tcpi_bytes_received`): where requests are alike, the share of a process in these bytes is its
//! share of the requests, at any depth.
//!
//! Caveats. It covers only the network namespace of the calling thread. A server of one process
//! shares nothing, so nothing is read. Descriptors are searched only when a connection is new.
//! Connections that wait in an accept queue belong to no process. One that several processes hold
//! counts for the youngest. What a connection received between its last read and its end is not
//! counted, so with a connection for each request the bytes are those of a sample. On a server with
//! more connections or descriptors than a limit nothing is reported, because a part says nothing
//! about the shares.

use super::sock_diag::{self, Ports};
use super::{Ends, Round, Scope, Source};
use crate::netlink::CHUNK_BYTES;
use crate::network::Network;
use crate::socket::{self, Held, Socket};
use model::facts::Unreadable;
use model::maps::IntoMap;
use model::metric::Declaration;
use model::reading::{Data, Values};
use model::root::Root;
use model::unit::Unit;
use std::collections::BTreeMap;

/// Most connections that are read.
const SOCKETS_MAX: usize = 8192;

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new(Values::SERVER_SOCKETS, "sock_diag and /proc/PID/fd")
        .each("pid")
        .sum(Values::CONNECTIONS, Unit::Count, "Connections to the port that the process holds.")
        .counter(Values::RECEIVED_BYTES, Unit::Bytes, "Bytes that came in on them.")
}

struct ServerSockets {
    root: Root,
    port: u16,
    /// Who holds a connection, and what it had received, by the cookie of its socket.
    known: BTreeMap<u64, (u32, u64)>,
    /// What came in on all connections of a process that were seen.
    received: BTreeMap<u32, u64>,
    chunk: Vec<u8>,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    // Where the server is in another namespace, so are its connections.
    if scope.ends == Ends::Client || scope.network == Network::Apart || !scope.network.is_ours() {
        return None;
    }
    scope.server()?;
    Some(Box::new(ServerSockets {
        root: scope.root.clone(),
        port: scope.port?,
        known: BTreeMap::new(),
        received: BTreeMap::new(),
        chunk: vec![0; CHUNK_BYTES],
    }))
}

impl Source for ServerSockets {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let pids = round.server()?.pids();
        let mut connections: BTreeMap<u32, u64> = BTreeMap::new();
        if pids.len() > 1 {
            // One more than the limit shows that it was reached.
            let ports = Ports::Local(self.port);
            let sockets = sock_diag::opened(ports, SOCKETS_MAX + 1, &mut self.chunk)?;
            if sockets.len() > SOCKETS_MAX {
                let source = "sock_diag".to_string();
                let why =
                    format!("more than {SOCKETS_MAX} connections of the server: too many to share");
                return Err(Unreadable { source, why });
            }
            let is_new =
                |socket: &Socket| socket.inode != 0 && !self.known.contains_key(&socket.cookie);
            let held = match sockets.iter().any(is_new) {
                true => socket::held(&self.root, pids)?,
                false => Vec::new(),
            };
            connections = pids.iter().map(|pid| (*pid, 0)).into_map();
            self.add(&sockets, &held, &mut connections);
        }
        self.received.retain(|pid, _| connections.contains_key(pid));
        let row = |(pid, count): (u32, u64)| {
            let received = self.received.get(&pid).copied().unwrap_or(0);
            let values = [(Values::CONNECTIONS, count), (Values::RECEIVED_BYTES, received)];
            let values = values.map(|(name, value)| (name.to_string(), value));
            (pid.to_string(), values.into_iter().into_map())
        };
        Ok(Data::values::<BTreeMap<_, _>>(Values::SERVER_SOCKETS, connections.into_iter().map(row)))
    }
}

impl ServerSockets {
    /// Counts the connections of each process, and what came in on them since they were read last.
    fn add(&mut self, sockets: &[Socket], held: &[Held], connections: &mut BTreeMap<u32, u64>) {
        let holders: BTreeMap<u32, u32> = held.iter().map(|held| (held.inode, held.pid)).into_map();
        let before = std::mem::take(&mut self.known);
        for socket in sockets {
            let was = before.get(&socket.cookie);
            let holder = was.map(|(pid, _)| pid).or_else(|| holders.get(&socket.inode));
            let (Some(&pid), Some(tcp)) = (holder, socket.tcp) else { continue };
            // What a process held that has ended is held by no process.
            let Some(count) = connections.get_mut(&pid) else { continue };
            *count += 1;
            let earlier = was.map_or(0, |(_, received)| *received);
            *self.received.entry(pid).or_default() += tcp.received_bytes.saturating_sub(earlier);
            self.known.insert(socket.cookie, (pid, tcp.received_bytes));
        }
    }
}
