//! Listening sockets, and the acceptor that takes connections from one of them.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use crate::plan::{Accept, Listeners};
use crate::sys::{self, SocketOption};

/// Opens one socket for each thread, or a single one. Returns the address with the chosen port.
pub fn open(
    addr: SocketAddr,
    threads: usize,
    accept: Accept,
) -> io::Result<(SocketAddr, Vec<OwnedFd>)> {
    let first = bound(addr)?;
    let first = TcpListener::from(first);
    let addr = first.local_addr()?;
    let mut sockets = vec![OwnedFd::from(first)];
    if accept.listeners == Listeners::PerThread && threads > 1 {
        // SO_REUSEPORT is set only after the bind: with it, the bind would succeed while another
        // sink is bound, and two servers would silently share one port.
        sys::enable(sockets[0].as_fd(), SocketOption::ReusePort)?;
        for _ in 1..threads {
            let socket = sys::tcp_socket(addr.ip())?;
            sys::enable(socket.as_fd(), SocketOption::ReuseAddress)?;
            sys::enable(socket.as_fd(), SocketOption::ReusePort)?;
            sys::bind(socket.as_fd(), addr)?;
            sockets.push(socket);
        }
    }
    for socket in &sockets {
        sys::enable(socket.as_fd(), SocketOption::NoDelay)?;
        sys::listen(socket.as_fd(), accept.backlog)?;
    }
    Ok((addr, sockets))
}

fn bound(addr: SocketAddr) -> io::Result<OwnedFd> {
    let socket = sys::tcp_socket(addr.ip())?;
    sys::enable(socket.as_fd(), SocketOption::ReuseAddress)?;
    sys::bind(socket.as_fd(), addr)?;
    Ok(socket)
}

/// The result of an accept.
#[derive(Debug)]
pub enum Accepted {
    /// A connection.
    Connection(TcpStream),
    /// No connection waits.
    Nothing,
    /// The client has already gone; the next one may be there.
    Lost,
    /// It failed, mostly because descriptors ran out. Like a naive server this one tries again
    /// whenever the socket is ready, which is at once: a busy loop, on purpose.
    Failed,
}

/// Takes one connection.
pub fn accept(socket: &OwnedFd) -> Accepted {
    match sys::accept(socket.as_fd()) {
        Ok(connection) => Accepted::Connection(connection),
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock => Accepted::Nothing,
            ErrorKind::ConnectionAborted | ErrorKind::Interrupted => Accepted::Lost,
            _ => Accepted::Failed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPT: Accept = Accept { listeners: Listeners::PerThread, backlog: 16, delay_ns: 0 };

    fn local(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn threads_share_a_free_port() {
        // The kernel chooses the listener of each connection, so one may get all.
        let accept_all = Accept { backlog: 30, ..ACCEPT };
        let (addr, sockets) = open(local(0), 3, accept_all).unwrap();
        assert_eq!(sockets.len(), 3);
        let clients: Vec<_> = (0..30).map(|_| TcpStream::connect(addr).unwrap()).collect();
        let mut accepted = 0;
        for socket in &sockets {
            while let Accepted::Connection(connection) = accept(socket) {
                assert!(connection.nodelay().unwrap(), "inherited from the listener");
                accepted += 1;
            }
        }
        assert_eq!(accepted, clients.len());
    }

    #[test]
    fn a_busy_port_is_an_error_even_with_a_sink() {
        for threads in [1, 2] {
            let (addr, _sockets) = open(local(0), threads, ACCEPT).unwrap();
            let error = open(addr, threads, ACCEPT).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse, "{threads} threads");
        }
    }

    #[test]
    fn ipv6_works_where_it_exists() {
        let addr: SocketAddr = "[::1]:0".parse().unwrap();
        if TcpListener::bind(addr).is_ok() {
            let (addr, _sockets) = open(addr, 2, ACCEPT).unwrap();
            assert!(TcpStream::connect(addr).is_ok());
        }
    }
}
