//! The state of both drivers: open connections, the bytes to send, and the tally.

use crate::options::Options;
use crate::tally::{Rule, Tally};
use std::io;
use std::net::TcpStream;

/// One closed-loop load.
pub struct Load {
    pub sockets: Vec<TcpStream>,
    /// As many requests as a connection may have in flight, one after the other.
    pub requests: Vec<u8>,
    pub request_bytes: usize,
    pub depth: usize,
    pub tally: Tally,
}

/// Counters of a driver besides responses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    /// Waits for events.
    pub turns: u64,
    pub sends: u64,
}

impl Load {
    /// Opens all connections.
    pub fn open(options: &Options, rule: Rule) -> io::Result<Self> {
        let mut sockets = Vec::with_capacity(options.connections as usize);
        for _ in 0..options.connections {
            let socket = TcpStream::connect(options.address)?;
            socket.set_nodelay(true)?;
            sockets.push(socket);
        }
        let (request, depth) = (options.request(), options.depth as usize);
        Ok(Self {
            sockets,
            requests: request.repeat(depth),
            request_bytes: request.len(),
            depth,
            tally: Tally::new(rule, options.connections),
        })
    }

    /// The bytes of `count` requests, at most the depth.
    #[inline]
    pub fn bytes(&self, count: usize) -> &[u8] {
        &self.requests[..count.min(self.depth) * self.request_bytes]
    }
}

/// The target must keep its connections: without one the floor is invalid.
pub fn ended() -> io::Error {
    io::Error::other("the target closed a connection")
}
