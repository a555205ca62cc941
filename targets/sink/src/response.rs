//! Bytes to send, as a pure function of a response and a position.
//!
//! Because every response can be written from any byte on, a connection that cannot send keeps a
//! number and no buffer, and a body of 64 MiB takes no memory. Common responses are constants; the
//! others format their head into a small array. There is no `Date` field: it would be the only part
//! that changes, and the reference should send the same bytes every time.

use crate::head::{Persistence, Wants};
use crate::prebuilt;

/// One response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// What it says.
    pub content: Content,
    /// How much of it is sent.
    pub extent: Extent,
    /// What its head says about the connection.
    pub persistence: Persistence,
}

/// What a response says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// 200 with the 16 bytes of every target.
    Simple,
    /// 200 with `ok`.
    Healthz,
    /// 200 with this many bytes of [`PATTERN`].
    Bytes(u32),
    /// 200 with this many bytes of [`PATTERN`], in chunks.
    Chunked(u32),
    /// 200 with this many bytes of [`PATTERN`], up to the end of the connection, for clients that
    /// do not support chunks.
    UntilClose(u32),
    /// Another status, with a small body that names it.
    Status(u16),
    /// 200 with a text that the connection keeps, in JSON.
    Text,
    /// The interim response `100 Continue`.
    Continue,
    /// Bytes that are not HTTP.
    Garbage,
}

/// How much of a response is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The head alone, for HEAD.
    HeadOnly,
    /// Up to the middle of the body, or of the head if there is no body.
    Half,
}

impl From<Wants> for Extent {
    fn from(wants: Wants) -> Self {
        match wants {
            Wants::Body => Self::Whole,
            Wants::HeadOnly => Self::HeadOnly,
        }
    }
}

/// The bytes of generated bodies: byte n of a body is `PATTERN[n % 64]`.
pub static PATTERN: [u8; PATTERN_BYTES] = pattern();
/// Length of [`PATTERN`]: small enough to stay in the L1 cache.
pub const PATTERN_BYTES: usize = 16 * 1024;
/// The pattern repeats after this many bytes.
pub const PATTERN_PERIOD: usize = 64;

/// A chunk of `/chunked/N` has this many bytes of data; the last one has the rest.
pub const CHUNK_BYTES: u64 = 4096;
const CHUNK_SIZE_LINE: &[u8] = b"1000\r\n";
const CHUNK_WIRE_BYTES: u64 = CHUNK_BYTES + CHUNK_SIZE_LINE.len() as u64 + 2;
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

const fn pattern() -> [u8; PATTERN_BYTES] {
    let alphabet = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-\n";
    let mut bytes = [0; PATTERN_BYTES];
    let mut index = 0;
    while index < PATTERN_BYTES {
        bytes[index] = alphabet[index % PATTERN_PERIOD];
        index += 1;
    }
    bytes
}

impl Response {
    /// The bytes of a response that needs no formatting.
    #[inline]
    pub fn prebuilt(&self) -> Option<&'static [u8]> {
        let whole = match self.content {
            Content::Simple => prebuilt::simple(self.persistence),
            Content::Healthz => prebuilt::healthz(self.persistence),
            Content::Continue => prebuilt::CONTINUE,
            Content::Garbage => prebuilt::GARBAGE,
            _ => return None,
        };
        Some(match self.extent {
            Extent::Whole => whole,
            Extent::HeadOnly => &whole[..whole.len() - self.prebuilt_body_bytes()],
            Extent::Half => &whole[..half(whole.len(), self.prebuilt_body_bytes())],
        })
    }

    fn prebuilt_body_bytes(&self) -> usize {
        match self.content {
            Content::Simple => prebuilt::SIMPLE_BODY.len(),
            Content::Healthz => prebuilt::HEALTHZ_BODY.len(),
            _ => 0,
        }
    }

    /// How many bytes are sent in total. `text` is the text of [`Content::Text`].
    pub fn len(&self, text: &[u8]) -> u64 {
        match self.prebuilt() {
            Some(bytes) => bytes.len() as u64,
            None => Layout::of(self, text).len(self.extent),
        }
    }

    /// Appends the bytes from `from` up to, not including, `until`, which is at most the length.
    pub fn append(&self, text: &[u8], from: u64, until: u64, out: &mut Vec<u8>) {
        match self.prebuilt() {
            Some(bytes) => out.extend_from_slice(&bytes[from as usize..until as usize]),
            None => Layout::of(self, text).append(from, until, out),
        }
    }

    /// Where the body starts, if it is [`PATTERN`] to its end.
    pub fn pattern_begin(&self) -> Option<u64> {
        match self.content {
            Content::Bytes(_) | Content::UntilClose(_) if self.extent != Extent::HeadOnly => {
                Some(u64::from(Layout::of(self, &[]).head.len))
            }
            _ => None,
        }
    }
}

/// A response laid out as head and body.
struct Layout<'a> {
    head: HeadBytes,
    body: Body<'a>,
}

enum Body<'a> {
    Pattern(u64),
    Chunks(u64),
    Text(&'a [u8]),
    Named(HeadBytes),
}

impl<'a> Layout<'a> {
    fn of(response: &Response, text: &'a [u8]) -> Self {
        let mut head = HeadBytes::new();
        let (status, kind, body) = match response.content {
            Content::Bytes(size) | Content::UntilClose(size) => {
                (200, "application/octet-stream", Body::Pattern(size.into()))
            }
            Content::Chunked(size) => (200, "application/octet-stream", Body::Chunks(size.into())),
            Content::Text => (200, "application/json", Body::Text(text)),
            Content::Status(status) => (status, "application/json", status_body(status)),
            // The others have constants; only an empty body remains.
            Content::Simple | Content::Healthz | Content::Continue | Content::Garbage => {
                (200, "text/plain", Body::Pattern(0))
            }
        };
        head.text("HTTP/1.1 ").number(status.into()).text(" ").text(reason(status)).text("\r\n");
        let length = match response.content {
            Content::Chunked(_) => {
                head.text("Transfer-Encoding: chunked\r\n");
                None
            }
            Content::UntilClose(_) => None,
            // RFC 9110 section 8.6 forbids a length with 204; 304 would need the length of 200.
            Content::Status(204 | 304) => None,
            _ => Some(body.len()),
        };
        if status != 204 && status != 304 {
            head.text("Content-Type: ").text(kind).text("\r\n");
        }
        if let Some(length) = length {
            head.text("Content-Length: ").number(length).text("\r\n");
        }
        head.text(connection_line(response.persistence)).text("\r\n");
        Self { head, body }
    }

    fn len(&self, extent: Extent) -> u64 {
        let head = u64::from(self.head.len);
        let whole = head + self.body.len();
        match extent {
            Extent::Whole => whole,
            Extent::HeadOnly => head,
            Extent::Half => half(whole as usize, self.body.len() as usize) as u64,
        }
    }

    fn append(&self, from: u64, until: u64, out: &mut Vec<u8>) {
        let head_end = u64::from(self.head.len);
        if from < head_end {
            out.extend_from_slice(
                &self.head.as_slice()[from as usize..until.min(head_end) as usize],
            );
        }
        if until > head_end {
            self.body.append(from.saturating_sub(head_end), until - head_end, out);
        }
    }
}

/// Where a truncated response ends.
fn half(whole: usize, body: usize) -> usize {
    if body == 0 { whole / 2 } else { whole - body + body / 2 }
}

/// The `Connection` field, where the connection does not follow the default.
pub const fn connection_line(persistence: Persistence) -> &'static str {
    match persistence {
        Persistence::Keep => "",
        Persistence::KeepOld => "Connection: keep-alive\r\n",
        Persistence::Close | Persistence::CloseOld => "Connection: close\r\n",
    }
}

fn status_body(status: u16) -> Body<'static> {
    let mut body = HeadBytes::new();
    if !matches!(status, 204 | 205 | 304) {
        body.text("{\"status\":").number(status.into()).text("}");
    }
    Body::Named(body)
}

impl Body<'_> {
    fn len(&self) -> u64 {
        match *self {
            Self::Pattern(size) => size,
            Self::Chunks(size) => chunked_len(size),
            Self::Text(text) => text.len() as u64,
            Self::Named(ref bytes) => bytes.len.into(),
        }
    }

    fn append(&self, from: u64, until: u64, out: &mut Vec<u8>) {
        match *self {
            Self::Pattern(_) => append_pattern(from, until, out),
            Self::Chunks(size) => append_chunks(size, from, until, out),
            Self::Text(text) => out.extend_from_slice(&text[from as usize..until as usize]),
            Self::Named(ref bytes) => {
                out.extend_from_slice(&bytes.as_slice()[from as usize..until as usize]);
            }
        }
    }
}

/// The longest piece of [`PATTERN`] for position `from` that ends before `until`.
pub fn pattern_piece(from: u64, until: u64) -> &'static [u8] {
    let begin = from as usize % PATTERN_PERIOD;
    let length = (until - from).min((PATTERN_BYTES - begin) as u64) as usize;
    &PATTERN[begin..begin + length]
}

fn append_pattern(mut from: u64, until: u64, out: &mut Vec<u8>) {
    while from < until {
        let piece = pattern_piece(from, until);
        out.extend_from_slice(piece);
        from += piece.len() as u64;
    }
}

/// Length on the wire of a body of `size` bytes in chunks.
fn chunked_len(size: u64) -> u64 {
    let rest = size % CHUNK_BYTES;
    let rest_bytes = if rest == 0 { 0 } else { size_line(rest).len as u64 + rest + 2 };
    size / CHUNK_BYTES * CHUNK_WIRE_BYTES + rest_bytes + LAST_CHUNK.len() as u64
}

fn append_chunks(size: u64, mut from: u64, until: u64, out: &mut Vec<u8>) {
    while from < until {
        // A rest of almost a whole chunk, with the last chunk after it, is longer than a whole one.
        let index = (from / CHUNK_WIRE_BYTES).min(size / CHUNK_BYTES);
        let within = from - index * CHUNK_WIRE_BYTES;
        let data_begin = index * CHUNK_BYTES;
        let data = size.saturating_sub(data_begin).min(CHUNK_BYTES);
        let line = size_line(data);
        let line_end = if data == 0 { 0 } else { u64::from(line.len) };
        let data_end = line_end + data;
        let chunk_end = if data == 0 { 0 } else { data_end + 2 };
        let stop = until - from + within;
        // The last chunk has the same index as the rest before it, so it may follow in this turn.
        append_part(line.as_slice(), 0, within, stop.min(line_end), out);
        if within < data_end && stop > line_end {
            let begin = within.max(line_end) - line_end + data_begin;
            append_pattern(begin, stop.min(data_end) - line_end + data_begin, out);
        }
        append_part(b"\r\n", data_end, within, stop.min(chunk_end), out);
        if data < CHUNK_BYTES {
            append_part(LAST_CHUNK, chunk_end, within, stop, out);
            return;
        }
        from += stop.min(chunk_end) - within;
    }
}

/// Appends the bytes of `part`, which starts at `begin`, from `within` up to `stop`.
fn append_part(part: &[u8], begin: u64, within: u64, stop: u64, out: &mut Vec<u8>) {
    let from = within.saturating_sub(begin).min(part.len() as u64) as usize;
    let until = stop.saturating_sub(begin).min(part.len() as u64) as usize;
    if from < until {
        out.extend_from_slice(&part[from..until]);
    }
}

fn size_line(data: u64) -> HeadBytes {
    let mut line = HeadBytes::new();
    if data == CHUNK_BYTES {
        line.bytes(CHUNK_SIZE_LINE);
    } else {
        line.hexadecimal(data).text("\r\n");
    }
    line
}

/// A few bytes that are assembled without an allocation.
#[derive(Clone, Copy)]
struct HeadBytes {
    bytes: [u8; Self::CAPACITY],
    len: u8,
}

impl HeadBytes {
    /// More than the longest head that can be built here.
    const CAPACITY: usize = 192;

    fn new() -> Self {
        Self { bytes: [0; Self::CAPACITY], len: 0 }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }

    fn bytes(&mut self, more: &[u8]) -> &mut Self {
        let end = usize::from(self.len) + more.len();
        self.bytes[self.len.into()..end].copy_from_slice(more);
        self.len = end as u8;
        self
    }

    fn text(&mut self, more: &str) -> &mut Self {
        self.bytes(more.as_bytes())
    }

    fn number(&mut self, value: u64) -> &mut Self {
        self.digits(value, 10)
    }

    fn hexadecimal(&mut self, value: u64) -> &mut Self {
        self.digits(value, 16)
    }

    fn digits(&mut self, mut value: u64, base: u64) -> &mut Self {
        let mut digits = [0; 20];
        let mut begin = digits.len();
        loop {
            begin -= 1;
            digits[begin] = b"0123456789ABCDEF"[(value % base) as usize];
            value /= base;
            if value == 0 {
                break;
            }
        }
        self.bytes(&digits[begin..])
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        417 => "Expectation Failed",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
