//! Requests as frames of HTTP/2, each encoded once before the run.
//!
//! The encoding depends on no state of a connection, so the same bytes are right on every stream:
//! only the number of the stream is written into a copy. A header block longer than a frame goes on
//! in CONTINUATION frames, and a body is in DATA frames of the size that any peer takes.

use super::frame::{self, PAYLOAD_MAX, flag, kind};
use super::hpack::{Secrecy, put_field};
use crate::head::is_token;
use crate::tape::{EncodeError, check_line, check_value};
use model::load::Request;

/// The scheme of all requests of a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Plain.
    Http,
    /// Inside TLS.
    Https,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Fields of one connection, which HTTP/2 does not have (RFC 9113 section 8.2.2).
const OF_CONNECTIONS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
/// Fields that caches and logs on the way should not keep.
const SECRETS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/// Encodes one request, on a stream whose number is not written yet. `content-length` is added as
/// HTTP/1.1 has it, but not to calls, and `:authority` takes the place of `host`.
pub(crate) fn encode(request: &Request, scheme: Scheme) -> Result<Vec<u8>, EncodeError> {
    let Request { method, path, host, headers, body, .. } = request;
    check_line(method, path)?;
    let given_host = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority = given_host.map_or(host, |(_, value)| value);
    check_value("Host", authority)?;
    let mut block = Vec::new();
    let pseudo = [
        (":method", method.as_str()),
        (":scheme", scheme.name()),
        (":authority", authority.as_str()),
        (":path", path.as_str()),
    ];
    for (name, value) in pseudo {
        put_field(name, value.as_bytes(), Secrecy::Open, &mut block);
    }
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(EncodeError::HeaderName(name.clone()));
        }
        if lower == "content-length" {
            return Err(EncodeError::Reserved(name.clone()));
        }
        let is_te = lower == "te" && !value.trim().eq_ignore_ascii_case("trailers");
        if OF_CONNECTIONS.contains(&&*lower) || is_te {
            return Err(EncodeError::NotInHttp2(name.clone()));
        }
        check_value(name, value)?;
        if lower != "host" {
            let is_secret = SECRETS.contains(&&*lower);
            let secrecy = if is_secret { Secrecy::Secret } else { Secrecy::Open };
            // A value has no blanks around it (RFC 9113 section 8.2.1).
            put_field(&lower, value.trim().as_bytes(), secrecy, &mut block);
        }
    }
    let has_length = !body.is_empty() || ["POST", "PUT", "PATCH"].contains(&method.as_str());
    if has_length && !request.is_call() {
        put_field("content-length", body.len().to_string().as_bytes(), Secrecy::Open, &mut block);
    }
    let mut frames = Vec::new();
    put_block(&block, if body.is_empty() { flag::END_STREAM } else { 0 }, 0, &mut frames);
    put_body(body, flag::END_STREAM, 0, &mut frames);
    Ok(frames)
}

/// Most of a header block in one frame, which leaves room for a new size of the table, bytes.
const BLOCK_MAX: usize = PAYLOAD_MAX as usize - 16;

/// Appends a header block in as many frames as it needs; `flags` are those of the first.
pub(super) fn put_block(block: &[u8], flags: u8, stream: u32, output: &mut Vec<u8>) {
    let pieces = block.len().div_ceil(BLOCK_MAX).max(1);
    for nth in 0..pieces {
        let begin = nth * BLOCK_MAX;
        let end = block.len().min(begin + BLOCK_MAX);
        let (kind, first) = if nth == 0 { (kind::HEADERS, flags) } else { (kind::CONTINUATION, 0) };
        let last = if nth + 1 == pieces { flag::END_HEADERS } else { 0 };
        frame::put(kind, first | last, stream, &block[begin..end], output);
    }
}

/// Appends a body in as many frames as it needs, none for an empty one; `last_flags` are those of
/// the last.
pub(super) fn put_body(body: &[u8], last_flags: u8, stream: u32, output: &mut Vec<u8>) {
    let mut pieces = body.chunks(PAYLOAD_MAX as usize).peekable();
    while let Some(piece) = pieces.next() {
        let flags = if pieces.peek().is_none() { last_flags } else { 0 };
        frame::put(kind::DATA, flags, stream, piece, output);
    }
}
