//! What both drivers work on: open connections, the bytes to send, and the tally.

use crate::options::Options;
use crate::tally::{Rule, Tally};
use std::io;
use std::net::TcpStream;

/// One closed-loop load.
pub struct Load {
    pub sockets: Vec<TcpStream>,
    /// As many requests behind each other as a connection may have in flight.
    pub requests: Vec<u8>,
    pub request_bytes: usize,
    pub depth: usize,
    pub tally: Tally,
}

/// Counters of a driver other than responses.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    /// Waits for something to happen.
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

    /// The bytes of `count` requests; more than the depth are never due.
    #[inline]
    pub fn bytes(&self, count: usize) -> &[u8] {
        &self.requests[..count.min(self.depth) * self.request_bytes]
    }
}

/// The target has to stay: a floor with a hole in it is none.
pub fn ended() -> io::Error {
    io::Error::other("the target closed a connection")
}
