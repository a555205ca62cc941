//! Requests as frames of HTTP/2, each encoded once before the run.
//!
//! A request has two forms, as the usual clients send it. The first request of a connection inserts
//! the fields that all requests of the tape have into the table of the peer; the later ones name
//! them by their index there, and insert nothing. So the same bytes are right on every stream
//! behind the first: only the number of the stream is written into a copy. Secrets are in no table.
//!
//! A header block longer than a frame goes on in CONTINUATION frames, and a body is in DATA frames
//! of the size that any peer takes. Each message of a conversation has frames of its own.

use super::frame::{self, PAYLOAD_MAX, flag, kind};
use super::hpack::{ENTRY_EXTRA, Literal, TABLE_MAX, is_static, put_entry, put_field};
use crate::head::is_token;
use crate::tape::{EncodeError, check_line, check_value};
use model::call::Replies;
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

/// Bytes before a message of gRPC: whether it is compressed, and its length.
pub(super) const PREFIX_BYTES: usize = 5;

/// A header field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    name: String,
    value: Vec<u8>,
    is_secret: bool,
}

/// Which request of a connection is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nth {
    First,
    Later,
}

/// The fields that all requests of a tape have, in the order in which each of them has them: what
/// the first request of a connection inserts into the table of the peer.
#[derive(Debug)]
pub(crate) struct Shared(Vec<Field>);

impl Shared {
    /// Those of requests with this scheme, as far as they fit into the usual table. Secrets are not
    /// among them, and what the static table has needs no other.
    pub fn of(requests: &[Request], scheme: Scheme) -> Result<Self, EncodeError> {
        let mut shared = fields(&requests[0], scheme)?;
        let mut room = TABLE_MAX as usize;
        shared.retain(|field| {
            let size = field.name.len() + field.value.len() + ENTRY_EXTRA as usize;
            let is_kept = !field.is_secret && !is_static(&field.name, &field.value) && size <= room;
            room -= if is_kept { size } else { 0 };
            is_kept
        });
        for request in &requests[1..] {
            let own = fields(request, scheme)?;
            let mut rest = own.iter();
            shared.retain(|field| {
                let mut ahead = rest.clone();
                let is_kept = ahead.any(|own| own == field);
                rest = if is_kept { ahead } else { rest.clone() };
                is_kept
            });
        }
        Ok(Self(shared))
    }

    /// Encodes one request, on a stream whose number is not written yet.
    pub fn encode(
        &self,
        request: &Request,
        scheme: Scheme,
        nth: Nth,
    ) -> Result<Vec<u8>, EncodeError> {
        let (mut block, mut frames) = (Vec::new(), Vec::new());
        let mut entries = self.0.iter().enumerate().peekable();
        for field in fields(request, scheme)? {
            let Field { name, value, is_secret } = &field;
            let entry = entries.next_if(|(_, shared)| **shared == field).map(|(place, _)| place);
            match (entry, nth) {
                (Some(_), Nth::First) => put_field(name, value, Literal::Inserted, &mut block),
                (Some(place), Nth::Later) => put_entry(self.0.len() - 1 - place, &mut block),
                (None, _) if *is_secret => put_field(name, value, Literal::Secret, &mut block),
                (None, _) => put_field(name, value, Literal::Plain, &mut block),
            }
        }
        let body = &request.body;
        let has_body = !body.is_empty() || request.is_call();
        put_block(&block, if has_body { 0 } else { flag::END_STREAM }, 0, &mut frames);
        if has_body && body.is_empty() {
            // Servers of gRPC wait for a DATA frame that ends a call, also where no message does.
            frame::put(kind::DATA, flag::END_STREAM, 0, &[], &mut frames);
        }
        match request.replies {
            Replies::Each => put_messages(body, &mut frames),
            Replies::One | Replies::Stream => put_body(body, flag::END_STREAM, 0, &mut frames),
        }
        Ok(frames)
    }
}

/// The header fields of a request. `content-length` is added as HTTP/1.1 has it, but not to calls,
/// and `:authority` takes the place of `host`.
fn fields(request: &Request, scheme: Scheme) -> Result<Vec<Field>, EncodeError> {
    let Request { method, path, host, headers, body, .. } = request;
    check_line(method, path)?;
    let given_host = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority = given_host.map_or(host, |(_, value)| value);
    check_value("Host", authority)?;
    let field = |name: &str, value: &str| Field {
        name: name.to_string(),
        value: value.as_bytes().to_vec(),
        is_secret: SECRETS.contains(&name),
    };
    let mut fields = vec![
        field(":method", method),
        field(":scheme", scheme.name()),
        field(":authority", authority),
        field(":path", path),
    ];
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
            // A value has no blanks around it (RFC 9113 section 8.2.1).
            fields.push(field(&lower, value.trim()));
        }
    }
    let has_length = !body.is_empty() || ["POST", "PUT", "PATCH"].contains(&method.as_str());
    if has_length && !request.is_call() {
        fields.push(field("content-length", &body.len().to_string()));
    }
    Ok(fields)
}

/// Appends messages of gRPC of which each waits for the reply to the one before it.
fn put_messages(messages: &[u8], output: &mut Vec<u8>) {
    let mut rest = messages;
    while !rest.is_empty() {
        let length = match rest.first_chunk::<PREFIX_BYTES>() {
            Some([_, length @ ..]) => PREFIX_BYTES + u32::from_be_bytes(*length) as usize,
            None => rest.len(),
        };
        let (message, after) = rest.split_at(length.min(rest.len()));
        let last = if after.is_empty() { flag::END_STREAM } else { flag::WAITS };
        put_body(message, last, 0, output);
        rest = after;
    }
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
