//! A response that failed, or bytes that are none, kept so that a person can read why.
//!
//! For: what the engine passes on about such a response, and what a record keeps of it.
//! In: the bytes as they arrived. Out: the status line, header lines and, on request, the start of
//! the body, with secrets masked.
//! Never: a good response.

use crate::call::CallStatus;
use crate::check::Check;
use crate::fault::Fault;
use crate::secret;
use serde::{Deserialize, Serialize};

/// Most kinds of failures for which a response is kept, per worker and level and per point.
pub const CAUGHT_MAX: usize = 8;
/// Bytes kept of one response: most of a head, and what follows it.
pub const CAUGHT_BYTES_MAX: usize = 4096;
/// Bytes of a body that a record keeps.
pub const BODY_BYTES_MAX: usize = 1024;
/// Bytes kept of a line that is not as it should be.
pub const LINE_BYTES_MAX: usize = 120;

/// Samples of the same kind are duplicates.
pub type Kind = (u16, Option<Check>, Option<Fault>);

/// The bytes of a response that failed.
#[derive(Debug, Clone)]
pub struct Caught {
    /// Status code; 0 when it was not read.
    pub status: u16,
    /// The check that failed; nothing when the status or a fault is the failure.
    pub check: Option<Check>,
    /// Why it is no response; its bytes are then the lines that show it.
    pub fault: Option<Fault>,
    /// When it was complete, monotonic nanoseconds.
    pub at_ns: u64,
    /// Bytes of the whole response; with a fault those that had come.
    pub total_bytes: u64,
    /// With a fault: the announced length of the body of which `total_bytes` had come.
    pub body_bytes: Option<u64>,
    /// Where on the tape its request lies, if that is known.
    pub asked: Option<u32>,
    bytes: [u8; CAUGHT_BYTES_MAX],
    length: usize,
}

impl Caught {
    /// A response with none of its bytes yet.
    pub fn new((status, check, fault): Kind, at_ns: u64, total_bytes: u64) -> Self {
        let (body_bytes, asked, bytes) = (None, None, [0; CAUGHT_BYTES_MAX]);
        Self { status, check, fault, at_ns, total_bytes, body_bytes, asked, bytes, length: 0 }
    }

    /// What makes it the same kind as another.
    pub fn kind(&self) -> Kind {
        (self.status, self.check, self.fault)
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

    /// The head of the response, and its body if that was kept. All is the head of what is none.
    pub fn parts(&self) -> (&[u8], Option<&[u8]>) {
        let bytes = self.bytes();
        let is_whole = self.fault.is_none();
        match bytes.windows(4).position(|window| is_whole && window == b"\r\n\r\n") {
            Some(end) => (&bytes[..end], Some(&bytes[end + 4..])),
            None => (bytes, None),
        }
    }
}

/// What a record keeps of the first response of a kind of failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseSample {
    /// Status code of HTTP; 0 when it was not read.
    pub status: u16,
    /// What the call was and how it ended, if the request was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallSample>,
    /// The check that failed; absent when the status or a fault is the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Why it is no response, or not one that was asked for; absent for whole responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Status line and header lines; values of headers that hold secrets are masked. With a fault:
    /// the lines that show it, where a line does.
    pub head: Vec<String>,
    /// Start of the body as it was sent, with `--sample-failures`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Bytes of the whole response; with a fault those that had come.
    pub bytes: u64,
    /// With a fault inside a body of announced length: that length; `bytes` of it had come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
}

/// What a record keeps of a call beside the head and the trailers of its response, which are the
/// head of the sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSample {
    /// Service and method.
    pub method: String,
    /// Name of its status.
    pub status: String,
    /// What the server said about it (`grpc-message`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The messages of the request as JSON, with `--sample-failures` and `--keep-requests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Vec<String>>,
    /// The messages of the reply as JSON, with `--sample-failures`; empty when there was none.
    /// Absent when they were gone by the time the status was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Vec<String>>,
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
    /// Also those of the requests, where these are calls.
    KeptWithRequests,
}

impl ResponseSample {
    /// Reads what was caught.
    pub fn of(caught: &Caught, bodies: Bodies) -> Self {
        let (head, body) = caught.parts();
        let body = body.filter(|_| bodies != Bodies::Dropped);
        let kept = |body: &[u8]| secret::text(&decoded(&body[..body.len().min(BODY_BYTES_MAX)]));
        Self {
            status: match CallStatus::of_number(caught.status) {
                Some(_) => status_of(head),
                None => caught.status,
            },
            call: None,
            check: caught.check.map(|check| check.name().to_string()),
            fault: caught.fault,
            head: match head {
                [] => Vec::new(),
                _ => decoded(head).split("\r\n").map(masked).collect(),
            },
            body: body.map(kept),
            bytes: caught.total_bytes,
            body_bytes: caught.body_bytes,
        }
    }

    /// The value of a header, if the response had it.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = self.head.iter().filter_map(|line| line.split_once(':'));
        let mut found = named.filter(|(other, _)| other.trim().eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }
}

/// The status of a head of HTTP/2; 0 when only trailers were kept.
fn status_of(head: &[u8]) -> u16 {
    let code = head.strip_prefix(b"HTTP/2 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| str::from_utf8(code).ok()?.parse().ok()).unwrap_or(0)
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
