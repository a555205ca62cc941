//! The load of one contender in one slot.

use std::path::PathBuf;

/// The layer between the bytes of HTTP and the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    /// TLS with a self-signed certificate.
    Tls,
}

/// What is spoken on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    /// HTTP/2 without the step from HTTP/1.1; depth is streams.
    Http2,
    /// Calls that a server answers with a status in its trailers.
    Grpc,
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
    pub protocol: Protocol,
    pub reuse: Reuse,
    /// How long it lasts. Peers take whole seconds.
    pub slot_ms: u32,
    /// Where a contender may leave a file.
    pub scratch: PathBuf,
}

impl Load {
    /// The message of a call, as JSON.
    pub const MESSAGE: &str = r#"{"id":7}"#;

    /// The address and the path without its slash: for calls the method.
    pub fn place(&self) -> (&str, &str) {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        rest.split_once('/').unwrap_or((rest, ""))
    }

    /// The message of a call on its way: its length, and field 1 with 7.
    pub fn message_bytes() -> [u8; 7] {
        [0, 0, 0, 0, 2, 8, 7]
    }

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
            protocol: Protocol::Http1,
            reuse: Reuse::Kept,
            slot_ms: 3_000,
            scratch: "out/bench".into(),
        }
    }
}
