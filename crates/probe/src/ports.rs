//! Which local ports are taken, for the budget before a run.

use crate::network::Network;
use crate::source::sock_diag;
use model::facts::Unreadable;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// A local port that a connection holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenPort {
    /// Our end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Until TIME_WAIT is over, nanoseconds; nothing in other states.
    pub time_wait_left_ns: Option<u64>,
}

/// Connections of this network namespace to any address with this port.
pub fn taken_ports(port: u16) -> Result<Vec<TakenPort>, Unreadable> {
    let sockets = sock_diag::connected_to(port)?;
    let taken = sockets.iter().map(|socket| TakenPort {
        local: SocketAddr::new(socket.local.to_canonical(), socket.local_port),
        remote: SocketAddr::new(socket.remote.to_canonical(), socket.remote_port),
        time_wait_left_ns: socket.time_wait_left_ns(),
    });
    Ok(taken.collect())
}

/// Ports that a process listens on, at any address. A port that was chosen by bind is never chosen
/// by connect, whatever its address (`net/ipv4/inet_hashtables.c`, `__inet_hash_connect`).
pub fn listening_ports() -> Result<BTreeSet<u16>, Unreadable> {
    let sockets = sock_diag::all_listening(Network::Shared)?;
    Ok(sockets.iter().map(|socket| socket.local_port).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn connections_hold_their_port_and_go_on_to_when_closed() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(at) else {
                println!("{at}: skipped, this host has no such family");
                continue;
            };
            let server = listener.local_addr().unwrap();
            assert!(listening_ports().unwrap().contains(&server.port()));
            let client = TcpStream::connect(server).unwrap();
            let (mut accepted, local) = listener.accept().unwrap();
            let ours = || {
                let taken = taken_ports(server.port()).unwrap();
                taken.into_iter().find(|taken| taken.local == local && taken.remote == server)
            };
            let open = TakenPort { local, remote: server, time_wait_left_ns: None };
            assert_eq!(ours(), Some(open));
            drop(client);
            assert_eq!(accepted.read(&mut [0]).unwrap(), 0);
            drop(accepted);
            let left_ns = ours().unwrap().time_wait_left_ns.expect("we closed first");
            assert!((50_000_000_000..=60_100_000_000).contains(&left_ns), "{left_ns}");
        }
    }
}
