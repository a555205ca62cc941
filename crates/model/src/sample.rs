//! A response that failed, kept so that a person can read why.
//!
//! For: what the engine passes on about such a response, and what a record keeps of it.
//! In: the bytes as they arrived. Out: the status line, header lines and, on request, the start of
//! the body, with secrets masked.
//! Never: a good response.

use crate::check::Check;
use crate::secret;
use serde::{Deserialize, Serialize};

/// Most kinds of failures for which a response is kept, per worker and level and per point.
pub const CAUGHT_MAX: usize = 8;
/// Bytes kept of one response: most of a head, and what follows it.
pub const CAUGHT_BYTES_MAX: usize = 4096;
/// Bytes of a body that a record keeps.
pub const BODY_BYTES_MAX: usize = 1024;

/// The bytes of a response that failed.
#[derive(Debug, Clone)]
pub struct Caught {
    /// Status code.
    pub status: u16,
    /// The check that failed; nothing when the status is the failure.
    pub check: Option<Check>,
    /// When it was complete, monotonic nanoseconds.
    pub at_ns: u64,
    /// Bytes of the whole response.
    pub total_bytes: u64,
    bytes: [u8; CAUGHT_BYTES_MAX],
    length: usize,
}

impl Caught {
    /// A response with none of its bytes yet.
    pub fn new((status, check): (u16, Option<Check>), at_ns: u64, total_bytes: u64) -> Self {
        let bytes = [0; CAUGHT_BYTES_MAX];
        Self { status, check, at_ns, total_bytes, bytes, length: 0 }
    }

    /// Adds bytes as far as there is room.
    pub fn append(&mut self, bytes: &[u8]) {
        let taken = bytes.len().min(CAUGHT_BYTES_MAX - self.length);
        self.bytes[self.length..][..taken].copy_from_slice(&bytes[..taken]);
        self.length += taken;
    }

    /// The first bytes of the response.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What a record keeps of the first response of a kind of failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseSample {
    /// Status code.
    pub status: u16,
    /// The check that failed; absent when the status is the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Status line and header lines; values of headers that hold secrets are masked.
    pub head: Vec<String>,
    /// Start of the body as it was sent, with `--sample-failures`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Bytes of the whole response.
    pub bytes: u64,
}

/// Whether bodies of failed responses are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bodies {
    /// No: a body may hold what is not meant for a record.
    #[default]
    Dropped,
    /// Up to [`BODY_BYTES_MAX`] bytes of each.
    Kept,
}

impl ResponseSample {
    /// Reads what was caught.
    pub fn of(caught: &Caught, bodies: Bodies) -> Self {
        let bytes = caught.bytes();
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let head = &bytes[..end.unwrap_or(bytes.len())];
        let body = end.map(|end| &bytes[end + 4..]).filter(|_| bodies == Bodies::Kept);
        let kept = |body: &[u8]| secret::text(&decoded(&body[..body.len().min(BODY_BYTES_MAX)]));
        Self {
            status: caught.status,
            check: caught.check.map(|check| check.name().to_string()),
            head: decoded(head).split("\r\n").map(masked).collect(),
            body: body.map(kept),
            bytes: caught.total_bytes,
        }
    }

    /// The value of a header, if the response had it.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = self.head.iter().skip(1).filter_map(|line| line.split_once(':'));
        let mut found = named.filter(|(other, _)| other.trim().eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }
}

fn decoded(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A header line without its secret.
fn masked(line: &str) -> String {
    match line.split_once(':') {
        Some((name, _)) if secret::is_secret_header(name.trim()) => {
            format!("{name}: {}", secret::MASK)
        }
        _ => secret::text(line),
    }
}
