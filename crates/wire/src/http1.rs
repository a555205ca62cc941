//! HTTP/1.1 responses on one connection (RFC 9112), from bytes in pieces of any size.
//!
//! It reads what the RFC asks a client to read, and what it lets a client read: lines that end with
//! a line feed alone, folded header lines, blanks around names and within the status line, other
//! minor versions, lists of equal lengths, Transfer-Encoding next to Content-Length, control
//! characters in values. What it refuses has a [`ProtocolError`].
//!
//! There are two paths for a response. A response whose head has the shape of an earlier one is
//! compared with it and measured in a few nanoseconds ([`Shapes`]). Any other goes byte by byte
//! through a state machine that keeps no buffer: whatever it must remember of a head fits in this
//! struct. Both verify the status line and the length of every response; fuzzing compares them with
//! each other and with an independent parser.
//!
//! Hot: runs for every response.

use crate::head::{Field, Framing, is_token, is_value_byte};
use crate::response::{Expect, Outcome, Progress, ProtocolError, Response};
use crate::session::{Ending, Reply, RequestId, ResponseOrder, Session, Witness};
use crate::shape::{HeadFacts, Shapes};
use model::tick::Parts;

/// Longest head that is accepted, interim responses included, bytes.
pub const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Longest header name that matters for framing: `transfer-encoding`.
const NAME_MAX: usize = 17;
/// Longest token that matters in a header value: `keep-alive`.
const TOKEN_MAX: usize = 10;

/// Receiving side of one HTTP/1.1 connection.
#[derive(Debug, Clone)]
pub struct Http1 {
    state: State,
    head: HeadSoFar,
    /// Bytes of the current response.
    bytes: u64,
    /// Bytes of body or chunk still to come.
    remaining: u64,
    /// Those of `bytes` that are not of a body without an announced length.
    framing: u64,
    /// Of the responses that were complete since they were taken.
    parts: Parts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first byte of a response; empty lines are skipped.
    Start,
    StartLineFeed,
    /// Inside the fixed part of the status line; the number of bytes matched.
    Version(u8),
    /// Inside the status code; the number of digits seen.
    Code(u8),
    /// After the status code.
    AfterCode,
    Reason,
    /// After a carriage return in the head; a line feed must follow.
    LineFeed,
    /// At the start of a header line, of its continuation, or of the empty line.
    Line,
    Name,
    /// Blanks after a name; a colon must follow.
    AfterName,
    Value,
    /// After the carriage return of the empty line.
    LastLineFeed,
    Body,
    ChunkSize,
    ChunkExtension,
    ChunkSizeLineFeed,
    ChunkData,
    ChunkEnd,
    ChunkEndLineFeed,
    TrailerStart,
    Trailer,
    TrailerLineFeed,
    TrailerLastLineFeed,
    UntilClose,
}

/// What must be remembered of a head whose bytes are gone.
#[derive(Debug, Clone, Copy)]
struct HeadSoFar {
    status: u16,
    /// 0 or 1, of HTTP/1.x.
    minor: u8,
    field: Field,
    name: [u8; NAME_MAX],
    name_length: u8,
    token: [u8; TOKEN_MAX],
    token_length: u8,
    /// Blanks came after the token; only its end may follow.
    is_token_over: bool,
    length: Length,
    /// Digits of the current Content-Length value.
    digits: Digits,
    /// That value; in a chunked body, bytes of the current chunk line.
    value: u64,
    transfer: Transfer,
    says_close: bool,
    says_keep_alive: bool,
    /// Bytes of the names and values of all fields.
    fields: u32,
    /// Whether the current value has begun: blanks before it do not count.
    has_value: bool,
}

/// The value of all lines with Content-Length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Absent,
    /// There are such lines, and no value in them.
    Empty,
    Known(u64),
    /// A value that is no length, or another one than before.
    Bad,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digits {
    None,
    Some,
    /// A space after the digits; only more spaces may follow.
    Over,
}

/// The last transfer coding seen; `identity`, which earlier versions of HTTP had, is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Absent,
    Chunked,
    Other,
}

const FRESH: HeadSoFar = HeadSoFar {
    status: 0,
    minor: 1,
    field: Field::Other,
    name: [0; NAME_MAX],
    name_length: 0,
    token: [0; TOKEN_MAX],
    token_length: 0,
    is_token_over: false,
    length: Length::Absent,
    digits: Digits::None,
    value: 0,
    transfer: Transfer::Absent,
    says_close: false,
    says_keep_alive: false,
    fields: 0,
    has_value: false,
};

const VERSION: &[u8] = b"HTTP/1.";

impl Default for Http1 {
    fn default() -> Self {
        Self::new()
    }
}

impl Session for Http1 {
    const ALPN: &'static [u8] = b"http/1.1";
    const ORDER: ResponseOrder = ResponseOrder::OfRequests;
    type Memory = Shapes;

    fn for_depth(_depth: u32) -> Self {
        Self::new()
    }

    #[inline]
    fn begin(&mut self, _output: &mut Vec<u8>) {
        *self = Self::new();
    }

    #[inline]
    fn addressee(&mut self, _input: &mut &[u8]) -> Result<Option<RequestId>, ProtocolError> {
        Ok(Some(RequestId::Oldest))
    }

    // A call costs as much as a response whose head is known.
    #[inline(always)]
    fn receive<W: Witness>(
        &mut self,
        input: &mut &[u8],
        expect: Expect,
        shapes: &mut Shapes,
        witness: &mut W,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let is_new = self.state == State::Start && self.bytes == 0;
        if is_new && let Some(seen) = shapes.recognise(input, expect) {
            self.head.status = seen.status;
            let (head, rest) = input.split_at(seen.bytes);
            *input = rest;
            if let Framing::Length(length) = seen.framing
                && length <= rest.len() as u64
            {
                witness.head(seen.status);
                let (body, rest) = rest.split_at(length as usize);
                witness.body(body);
                *input = rest;
                self.parts.body += length;
                self.parts.fields += u64::from(seen.fields);
                let bytes = head.len() as u64 + length;
                let reusable = !seen.closes;
                let response = Response { status: seen.status, bytes, reusable };
                return Ok(Some(Outcome::Response(response)));
            }
            self.bytes = seen.bytes as u64;
            self.head.says_close = seen.closes;
            self.head.fields = seen.fields;
            let response = self.begin_body(seen.framing, input, witness)?;
            if response.is_some() || input.is_empty() {
                return Ok(response.map(Outcome::Response));
            }
        }
        Ok(self.receive_slowly(input, expect, shapes, witness)?.map(Outcome::Response))
    }

    fn end(&mut self) -> Result<Option<Response>, ProtocolError> {
        match self.state {
            State::UntilClose => Ok(Some(self.finish_unannounced())),
            // Nothing came, or empty lines; an interim response announces another.
            State::Start if self.bytes == 0 || !matches!(self.head.status, 100..200) => Ok(None),
            _ => Err(ProtocolError::Truncated),
        }
    }

    fn progress(&self) -> Progress {
        let (status, came_bytes) = (self.head.status, self.bytes);
        match self.state {
            // An interim response announces another; empty lines announce nothing.
            State::Start | State::StartLineFeed if !matches!(status, 100..200) => {
                Progress::default()
            }
            State::Start | State::StartLineFeed | State::Version(_) | State::Code(_) => {
                Progress { status: 0, came_bytes, body_bytes: None }
            }
            State::Body => Progress {
                status,
                came_bytes: self.head.value - self.remaining,
                body_bytes: Some(self.head.value),
            },
            _ => Progress { status, came_bytes, body_bytes: None },
        }
    }

    // Cold: once for each connection that is given up.
    fn unasked(&self, bytes: &[u8], before: Expect) -> Option<ProtocolError> {
        let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
        let first = &bytes[start..];
        // A head that is not over overwrites the status only behind its version.
        let fault = match self.head.status {
            0 => return None,
            100..200 => ProtocolError::InterimBody,
            _ if first.starts_with(&VERSION[..first.len().min(VERSION.len())]) => {
                ProtocolError::ExtraResponse
            }
            _ if before == Expect::HeadOnly => ProtocolError::HeadBody,
            204 | 304 => ProtocolError::NoContentBody,
            _ => ProtocolError::LongBody,
        };
        Some(fault)
    }

    #[inline]
    fn take_parts(&mut self) -> Parts {
        std::mem::take(&mut self.parts)
    }
}

impl Http1 {
    /// A session on a fresh connection.
    pub fn new() -> Self {
        let (state, head, parts) = (State::Start, FRESH, Parts::default());
        Self { state, head, bytes: 0, remaining: 0, framing: 0, parts }
    }

    // Cold: drivers without a server write once; simulations may allocate.
    /// Appends a response as a server would write it: for drivers and simulations without a server.
    pub fn respond(reply: &Reply<'_>, output: &mut Vec<u8>) {
        let Reply { status, reason, fields, ending, body } = reply;
        output.extend_from_slice(format!("HTTP/1.1 {status} {reason}\r\n").as_bytes());
        for (name, value) in *fields {
            output.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let length = body.len();
        let (head, end) = match ending {
            Ending::Length => (format!("Content-Length: {length}\r\n\r\n"), ""),
            Ending::Chunk => {
                (format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n"), "\r\n0\r\n\r\n")
            }
            Ending::Connection => ("\r\n".to_string(), ""),
        };
        for part in [head.as_bytes(), body, end.as_bytes()] {
            output.extend_from_slice(part);
        }
    }

    /// Starts the body; finishes the response when the body is already in `input`.
    #[inline(never)]
    fn begin_body<W: Witness>(
        &mut self,
        framing: Framing,
        input: &mut &[u8],
        witness: &mut W,
    ) -> Result<Option<Response>, ProtocolError> {
        witness.head(self.head.status);
        match framing {
            Framing::Length(length) if length <= input.len() as u64 => {
                let (body, rest) = input.split_at(length as usize);
                witness.body(body);
                *input = rest;
                self.bytes += length;
                Ok(Some(self.finish(length)))
            }
            Framing::Length(length) => {
                self.state = State::Body;
                // `value` is free to remember the length.
                (self.remaining, self.head.value) = (length, length);
                Ok(self.take_body(input, witness))
            }
            Framing::Chunked => {
                self.state = State::ChunkSize;
                self.framing = self.bytes;
                self.begin_chunk();
                Ok(None)
            }
            Framing::UntilClose => {
                self.head.says_close = true;
                self.state = State::UntilClose;
                self.framing = self.bytes;
                Ok(None)
            }
        }
    }

    fn begin_chunk(&mut self) {
        self.head.digits = Digits::None;
        self.head.value = 0;
        self.remaining = 0;
    }

    /// Takes the bytes at hand of a body of known length.
    #[inline]
    fn take_body<W: Witness>(&mut self, input: &mut &[u8], witness: &mut W) -> Option<Response> {
        self.take_piece(input, witness);
        (self.remaining == 0).then(|| self.finish(self.head.value))
    }

    /// Takes the bytes at hand of a body or chunk.
    #[inline]
    fn take_piece<W: Witness>(&mut self, input: &mut &[u8], witness: &mut W) {
        let taken = self.remaining.min(input.len() as u64);
        let (piece, rest) = input.split_at(taken as usize);
        witness.body(piece);
        *input = rest;
        self.bytes += taken;
        self.remaining -= taken;
    }

    /// A response with so many bytes of body is complete.
    #[inline]
    fn finish(&mut self, body: u64) -> Response {
        let reusable = !self.head.says_close;
        let response = Response { status: self.head.status, bytes: self.bytes, reusable };
        self.parts.body += body;
        self.parts.fields += u64::from(self.head.fields);
        self.state = State::Start;
        self.bytes = 0;
        response
    }

    /// One whose length no field announced.
    fn finish_unannounced(&mut self) -> Response {
        let body = self.bytes - self.framing;
        self.parts.unannounced += body;
        self.finish(body)
    }

    #[inline(never)]
    fn receive_slowly<W: Witness>(
        &mut self,
        input: &mut &[u8],
        expect: Expect,
        shapes: &mut Shapes,
        witness: &mut W,
    ) -> Result<Option<Response>, ProtocolError> {
        // Where the head began, when all of it is in this input.
        let mut whole_head = (self.state == State::Start && self.bytes == 0).then_some(*input);
        while !input.is_empty() {
            match self.state {
                State::Body => {
                    if let Some(response) = self.take_body(input, witness) {
                        return Ok(Some(response));
                    }
                }
                State::UntilClose => {
                    self.bytes += input.len() as u64;
                    witness.body(input);
                    *input = &[];
                }
                State::ChunkData => {
                    self.take_piece(input, witness);
                    if self.remaining == 0 {
                        self.state = State::ChunkEnd;
                    }
                }
                State::ChunkSize
                | State::ChunkExtension
                | State::ChunkSizeLineFeed
                | State::ChunkEnd
                | State::ChunkEndLineFeed
                | State::TrailerStart
                | State::Trailer
                | State::TrailerLineFeed
                | State::TrailerLastLineFeed => {
                    if let Some(response) = self.take_chunk_framing(input)? {
                        return Ok(Some(response));
                    }
                }
                _ => {
                    if !self.take_head(input)? {
                        continue;
                    }
                    let Some(framing) = self.end_of_head(expect)? else {
                        whole_head = None;
                        continue;
                    };
                    if let Some(start) = whole_head.take() {
                        let bytes = &start[..start.len() - input.len()];
                        let (status, closes) = (self.head.status, self.head.says_close);
                        let fields = self.head.fields;
                        shapes.learn(
                            bytes,
                            expect,
                            HeadFacts { bytes: bytes.len(), status, framing, closes, fields },
                        );
                    }
                    if let Some(response) = self.begin_body(framing, input, witness)? {
                        return Ok(Some(response));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Consumes head bytes; true when the empty line was passed.
    fn take_head(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        let start = *input;
        for (index, &byte) in start.iter().enumerate() {
            match self.head_byte(byte) {
                Ok(false) => {}
                Ok(true) => {
                    *input = &start[index + 1..];
                    self.count_head(index as u64 + 1)?;
                    return Ok(true);
                }
                Err(error) => {
                    // So that the line can be shown.
                    *input = &start[index..];
                    return Err(error);
                }
            }
        }
        *input = &[];
        self.count_head(start.len() as u64)?;
        Ok(false)
    }

    fn count_head(&mut self, bytes: u64) -> Result<(), ProtocolError> {
        self.bytes += bytes;
        if self.bytes > HEAD_BYTES_MAX { Err(ProtocolError::HeadTooLong) } else { Ok(()) }
    }

    /// One byte of a head; true when it was the last.
    fn head_byte(&mut self, byte: u8) -> Result<bool, ProtocolError> {
        use ProtocolError::{BadHeader, BadStatus, NotHttp};
        self.state = match (self.state, byte) {
            (State::Start, b'\n') => State::Start,
            (State::Start, b'\r') => State::StartLineFeed,
            (State::StartLineFeed, b'\n') => State::Start,
            (State::Start, b'H') => State::Version(1),
            (State::Version(at), _) => self.version_byte(at, byte)?,
            (State::Code(at), _) => self.code_byte(at, byte)?,
            (State::AfterCode, b' ' | b'\t' | 0x0b | 0x0c) => State::Reason,
            (State::AfterCode | State::Reason, b'\r') => State::LineFeed,
            (State::AfterCode | State::Reason, b'\n') => State::Line,
            (State::Reason, 1..) => State::Reason,
            (State::LineFeed, b'\n') => State::Line,
            (State::Line, b' ' | b'\t') => {
                self.value_byte(b' ');
                State::Value
            }
            (State::Line, b'\r') => State::LastLineFeed,
            (State::Line | State::LastLineFeed, b'\n') => {
                self.end_value();
                return Ok(true);
            }
            (State::Line, _) if is_token(byte) => {
                self.end_value();
                self.head.name_length = 0;
                self.name_byte(byte);
                State::Name
            }
            (State::Name | State::AfterName, b':') => {
                self.begin_value();
                State::Value
            }
            (State::Name | State::AfterName, b' ' | b'\t') => State::AfterName,
            (State::Name, _) if is_token(byte) => {
                self.name_byte(byte);
                State::Name
            }
            (State::Value, b'\r') => State::LineFeed,
            (State::Value, b'\n') => State::Line,
            (State::Value, 1..) => {
                self.value_byte(byte);
                State::Value
            }
            (State::Start | State::StartLineFeed, _) => return Err(NotHttp),
            (State::AfterCode | State::Reason, _) => return Err(BadStatus),
            _ => return Err(BadHeader),
        };
        Ok(false)
    }

    fn version_byte(&mut self, at: u8, byte: u8) -> Result<State, ProtocolError> {
        let at = at as usize;
        match byte {
            _ if at < VERSION.len() => {
                let next = State::Version(at as u8 + 1);
                if byte == VERSION[at] { Ok(next) } else { Err(ProtocolError::NotHttp) }
            }
            // A higher minor version is read as the highest that is known (RFC 9110 section 2.5).
            b'0'..=b'9' if at == VERSION.len() => {
                self.head = HeadSoFar { minor: (byte - b'0').min(1), ..FRESH };
                Ok(State::Version(at as u8 + 1))
            }
            b' ' | b'\t' | 0x0b | 0x0c if at > VERSION.len() => Ok(State::Code(0)),
            _ => Err(ProtocolError::NotHttp),
        }
    }

    fn code_byte(&mut self, at: u8, byte: u8) -> Result<State, ProtocolError> {
        match (at, byte) {
            (0, b' ' | b'\t' | 0x0b | 0x0c) => return Ok(State::Code(0)),
            (0, b'1'..=b'9') | (1.., b'0'..=b'9') => {}
            _ => return Err(ProtocolError::BadStatus),
        }
        self.head.status = self.head.status * 10 + u16::from(byte - b'0');
        Ok(if at == 2 { State::AfterCode } else { State::Code(at + 1) })
    }

    fn name_byte(&mut self, byte: u8) {
        self.head.fields += 1;
        let at = self.head.name_length as usize;
        if at < NAME_MAX {
            self.head.name[at] = byte.to_ascii_lowercase();
        }
        // One byte past the longest name that matters is enough to tell that it is another name.
        self.head.name_length = (at + 1).min(NAME_MAX + 1) as u8;
    }

    fn begin_value(&mut self) {
        let head = &mut self.head;
        let length = head.name_length as usize;
        head.field = if length > NAME_MAX { Field::Other } else { Field::of(&head.name[..length]) };
        (head.digits, head.value) = (Digits::None, 0);
        (head.token_length, head.is_token_over) = (0, false);
        head.has_value = false;
        if head.field == Field::ContentLength && head.length == Length::Absent {
            head.length = Length::Empty;
        }
    }

    fn value_byte(&mut self, byte: u8) {
        let head = &mut self.head;
        head.has_value |= !matches!(byte, b' ' | b'\t');
        head.fields += u32::from(head.has_value);
        match (head.field, byte) {
            (Field::Other, _) => {}
            (Field::ContentLength, _) => self.length_byte(byte),
            (_, b',') => self.end_token(),
            (_, b' ' | b'\t') => head.is_token_over = head.token_length > 0,
            (_, _) => {
                let at = head.token_length as usize;
                if at < TOKEN_MAX {
                    head.token[at] = byte.to_ascii_lowercase();
                }
                // Two words are none of the tokens that matter.
                let at = if head.is_token_over { TOKEN_MAX } else { at };
                head.token_length = (at + 1).min(TOKEN_MAX + 1) as u8;
            }
        }
    }

    /// A list of lengths, which must be the same; empty places do not count (RFC 9110 section
    /// 5.6.1).
    fn length_byte(&mut self, byte: u8) {
        let head = &mut self.head;
        match (byte, head.digits) {
            (b'0'..=b'9', Digits::None | Digits::Some) => {
                let digit = u64::from(byte - b'0');
                let value = head.value.checked_mul(10).and_then(|value| value.checked_add(digit));
                match value {
                    Some(value) => head.value = value,
                    None => head.length = Length::Bad,
                }
                head.digits = Digits::Some;
            }
            (b' ' | b'\t', Digits::None) => {}
            (b' ' | b'\t', _) => head.digits = Digits::Over,
            (b',', _) => self.end_length(),
            _ => head.length = Length::Bad,
        }
    }

    fn end_length(&mut self) {
        let head = &mut self.head;
        if head.digits != Digits::None {
            head.length = match head.length {
                Length::Absent | Length::Empty => Length::Known(head.value),
                Length::Known(length) if length == head.value => Length::Known(length),
                Length::Known(_) | Length::Bad => Length::Bad,
            };
        }
        (head.digits, head.value) = (Digits::None, 0);
    }

    fn end_token(&mut self) {
        let head = &mut self.head;
        let length = head.token_length as usize;
        (head.token_length, head.is_token_over) = (0, false);
        let token = head.token.get(..length).unwrap_or(b"?");
        match (head.field, token) {
            (_, b"") | (Field::TransferEncoding, b"identity") => {}
            (Field::TransferEncoding, b"chunked") => head.transfer = Transfer::Chunked,
            (Field::TransferEncoding, _) => head.transfer = Transfer::Other,
            (Field::Connection, b"close") => head.says_close = true,
            (Field::Connection, b"keep-alive") => head.says_keep_alive = true,
            _ => {}
        }
    }

    /// A header line and its continuations are over.
    fn end_value(&mut self) {
        match self.head.field {
            Field::Other => {}
            Field::ContentLength => self.end_length(),
            Field::TransferEncoding | Field::Connection => self.end_token(),
        }
    }

    /// The head is complete: how its body ends, or `None` for an interim response (RFC 9112 section
    /// 6.3).
    fn end_of_head(&mut self, expect: Expect) -> Result<Option<Framing>, ProtocolError> {
        let head = &mut self.head;
        match head.status {
            101 => return Err(ProtocolError::Switched),
            100..200 => {
                self.state = State::Start;
                return Ok(None);
            }
            _ => {}
        }
        // HTTP/1.0 has no transfer codings: after one the connection must not be used again.
        if head.minor == 0 && (!head.says_keep_alive || head.transfer != Transfer::Absent) {
            head.says_close = true;
        }
        if expect == Expect::HeadOnly || matches!(head.status, 204 | 304) {
            return Ok(Some(Framing::Length(0)));
        }
        let framing = match (head.transfer, head.length) {
            (Transfer::Chunked, _) => Framing::Chunked,
            (Transfer::Other, _) | (Transfer::Absent, Length::Absent) => Framing::UntilClose,
            (Transfer::Absent, Length::Known(length)) => Framing::Length(length),
            (Transfer::Absent, Length::Empty | Length::Bad) => {
                return Err(ProtocolError::BadLength);
            }
        };
        Ok(Some(framing))
    }

    /// Consumes framing bytes of a chunked body, at least one.
    fn take_chunk_framing(&mut self, input: &mut &[u8]) -> Result<Option<Response>, ProtocolError> {
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.bytes += 1;
            self.framing += 1;
            if self.chunk_byte(byte)? {
                return Ok(Some(self.finish_unannounced()));
            }
            if self.state == State::ChunkData {
                break;
            }
        }
        Ok(None)
    }

    /// One byte of chunk framing (RFC 9112 section 7.1); true when it was the last of the body.
    fn chunk_byte(&mut self, byte: u8) -> Result<bool, ProtocolError> {
        if matches!(self.state, State::ChunkSize | State::ChunkExtension) {
            self.chunk_line_byte()?;
        }
        self.state = match (self.state, byte) {
            (State::ChunkSize, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F')
                if self.head.digits != Digits::Over =>
            {
                let digit = (byte as char).to_digit(16).unwrap_or(0);
                if self.remaining >> 60 != 0 {
                    return Err(ProtocolError::BadChunk);
                }
                self.remaining = self.remaining << 4 | u64::from(digit);
                self.head.digits = Digits::Some;
                State::ChunkSize
            }
            (State::ChunkSize, _) if self.head.digits == Digits::None => {
                return Err(ProtocolError::BadChunk);
            }
            (State::ChunkSize, b' ' | b'\t') => {
                self.head.digits = Digits::Over;
                State::ChunkSize
            }
            (State::ChunkSize, b';') => State::ChunkExtension,
            (State::ChunkSize | State::ChunkExtension, b'\r') => State::ChunkSizeLineFeed,
            (State::ChunkExtension, _) if is_value_byte(byte) => State::ChunkExtension,
            (State::ChunkSizeLineFeed, b'\n') if self.remaining == 0 => State::TrailerStart,
            (State::ChunkSizeLineFeed, b'\n') => State::ChunkData,
            (State::ChunkEnd, b'\r') => State::ChunkEndLineFeed,
            (State::ChunkEndLineFeed, b'\n') => {
                self.begin_chunk();
                State::ChunkSize
            }
            (State::TrailerStart, b'\r') => State::TrailerLastLineFeed,
            (State::TrailerStart | State::TrailerLastLineFeed, b'\n') => return Ok(true),
            (State::Trailer, b'\r') => State::TrailerLineFeed,
            (State::Trailer | State::TrailerLineFeed, b'\n') => State::TrailerStart,
            (State::TrailerStart | State::Trailer, 1..) => {
                self.trailer_byte()?;
                State::Trailer
            }
            _ => return Err(ProtocolError::BadChunk),
        };
        Ok(false)
    }

    /// A chunk line is bounded like a head, so that a server cannot send one without end; `value`
    /// is free to count its bytes.
    fn chunk_line_byte(&mut self) -> Result<(), ProtocolError> {
        self.head.value += 1;
        if self.head.value > HEAD_BYTES_MAX { Err(ProtocolError::HeadTooLong) } else { Ok(()) }
    }

    /// Trailers are bounded like heads; `remaining` is free to count them.
    fn trailer_byte(&mut self) -> Result<(), ProtocolError> {
        self.remaining += 1;
        if self.remaining > HEAD_BYTES_MAX { Err(ProtocolError::HeadTooLong) } else { Ok(()) }
    }
}
