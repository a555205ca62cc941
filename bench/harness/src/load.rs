//! The load of one contender in one slot.

use std::path::PathBuf;

/// The layer between the bytes of HTTP and the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    /// TLS with a self-signed certificate.
    Tls,
}

/// Whether a connection stays open after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// It is used for the next request.
    Kept,
    /// It is closed, and the next request opens another.
    Closed,
}

/// A closed loop: connections, and requests in flight on each.
#[derive(Debug, Clone)]
pub struct Load {
    pub url: String,
    pub connections: u32,
    pub depth: u32,
    pub transport: Transport,
    pub reuse: Reuse,
    /// How long it lasts. Peers take whole seconds.
    pub slot_ms: u32,
    /// Where a contender may leave a file.
    pub scratch: PathBuf,
}

impl Load {
    /// For programs that take whole seconds.
    pub fn seconds(&self) -> u32 {
        self.slot_ms / 1_000
    }
}

#[cfg(test)]
impl Load {
    /// Fifty connections for three seconds.
    pub fn sample(depth: u32) -> Self {
        Self {
            url: "http://127.0.0.1:8083/simple".into(),
            connections: 50,
            depth,
            transport: Transport::Tcp,
            reuse: Reuse::Kept,
            slot_ms: 3_000,
            scratch: "out/bench".into(),
        }
    }
}
