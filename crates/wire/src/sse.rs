//! Server-sent events in a body (WHATWG HTML, section 9.2), from bytes in pieces of any size.
//!
//! No part of a stream is kept: one state machine goes through lines, and a second one through the
//! text of `data` fields, from which it picks the whole numbers `seq` and `at_ns` of a JSON object.
//! What must be remembered between two pieces fits in [`Sse`], so a subscriber costs no buffer.
//!
//! An event is what the standard says: a blank line after at least one `data` field. Comments,
//! fields of other names and a byte order mark at the start are ignored, and what follows the last
//! blank line is no event.
//!
//! Hot: runs for every byte of every event.

use crate::http1::Http1;
use crate::response::{Expect, Outcome, Progress, ProtocolError, Response};
use crate::session::{RequestId, ResponseOrder, Session, StreamEvent, Witness};
use crate::tape::Tape;
use model::streams::StreamTally;
use std::ops::Range;

/// Receiving side of one stream of events.
#[derive(Debug, Clone)]
pub struct Sse {
    line: Line,
    /// The previous byte was a carriage return: a line feed now belongs to it.
    after_return: bool,
    /// The current event has a field `data`.
    has_data: bool,
    data: Data,
}

/// A version of HTTP whose responses are streams of events, one at a time. A body with a status
/// other than 200 has no events.
#[derive(Debug)]
pub struct Events<S = Http1> {
    http: S,
    stream: Sse,
    /// The current response is a stream, according to its head.
    is_stream: bool,
}

impl<S: Session> Session for Events<S> {
    const ALPN: &'static [u8] = S::ALPN;
    const ORDER: ResponseOrder = S::ORDER;
    const WRITES: bool = S::WRITES;
    type Memory = S::Memory;

    fn for_depth(_depth: u32) -> Self {
        Self { http: S::for_depth(1), stream: Sse::new(), is_stream: false }
    }

    fn with_window(self, bytes: Option<u32>) -> Self {
        Self { http: self.http.with_window(bytes), ..self }
    }

    fn begin(&mut self, output: &mut Vec<u8>) {
        (self.stream, self.is_stream) = (Sse::new(), false);
        self.http.begin(output);
    }

    fn is_ready(&self) -> bool {
        self.http.is_ready()
    }

    fn capacity(&self) -> u32 {
        self.http.capacity()
    }

    fn is_leaving(&self) -> bool {
        self.http.is_leaving()
    }

    fn span(&self, tape: &Tape, position: u32, count: u32) -> Range<usize> {
        self.http.span(tape, position, count)
    }

    fn write(&mut self, tape: &[u8], span: Range<usize>, output: &mut Vec<u8>) -> u32 {
        self.http.write(tape, span, output)
    }

    fn owes(&mut self, tape: &[u8], output: &mut Vec<u8>) {
        self.http.owes(tape, output);
    }

    fn farewell(&mut self, output: &mut Vec<u8>) {
        self.http.farewell(output);
    }

    fn tell(&mut self, tally: &mut StreamTally) {
        self.http.tell(tally);
    }

    #[inline]
    fn addressee(&mut self, input: &mut &[u8]) -> Result<Option<RequestId>, ProtocolError> {
        self.http.addressee(input)
    }

    #[inline]
    fn receive<W: Witness>(
        &mut self,
        input: &mut &[u8],
        expect: Expect,
        memory: &mut S::Memory,
        witness: &mut W,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let Self { http, stream, is_stream } = self;
        http.receive(input, expect, memory, &mut Unfold { stream, is_stream, witness })
    }

    fn end(&mut self) -> Result<Option<Response>, ProtocolError> {
        self.http.end()
    }

    fn progress(&self) -> Progress {
        self.http.progress()
    }

    fn unasked(&self, bytes: &[u8], before: Expect) -> Option<ProtocolError> {
        self.http.unasked(bytes, before)
    }
}

/// Shows the events of a body to a witness.
struct Unfold<'a, W> {
    stream: &'a mut Sse,
    is_stream: &'a mut bool,
    witness: &'a mut W,
}

impl<W: Witness> Witness for Unfold<'_, W> {
    fn head(&mut self, status: u16) {
        *self.stream = Sse::new();
        *self.is_stream = status == 200;
        self.witness.head(status);
    }

    #[inline]
    fn body(&mut self, piece: &[u8]) {
        if *self.is_stream {
            self.stream.receive(piece, &mut |event| self.witness.event(event));
        }
    }
}

/// Position in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// At the start of the stream, this many bytes into the byte order mark.
    Mark(u8),
    Begin,
    /// In a name that so far is this many bytes of `data`.
    Name(u8),
    /// After the colon of `data`; one space is skipped.
    Colon,
    Value,
    /// In a line that is ignored.
    Other,
}

const NAME: &[u8] = b"data";
const MARK: &[u8] = b"\xef\xbb\xbf";

impl Default for Sse {
    fn default() -> Self {
        Self::new()
    }
}

impl Sse {
    /// A stream of which nothing has arrived.
    pub fn new() -> Self {
        Self { line: Line::Mark(0), after_return: false, has_data: false, data: Data::new() }
    }

    /// Takes bytes and reports each event that they complete.
    #[inline]
    pub fn receive(&mut self, bytes: &[u8], tell: &mut impl FnMut(StreamEvent)) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            let is_second = std::mem::take(&mut self.after_return) && byte == b'\n';
            if is_second {
                rest = after;
                continue;
            }
            // Vector instructions skip lines of text, instead of one byte at a time.
            if self.line == Line::Other {
                let end = memchr::memchr2(b'\n', b'\r', rest);
                let Some(end) = end else { return };
                self.end_line(rest[end], tell);
                rest = &rest[end + 1..];
                continue;
            }
            if self.line == Line::Value {
                rest = self.value(rest, tell);
                continue;
            }
            self.byte(byte, tell);
            rest = after;
        }
    }

    /// Takes the bytes at hand of a value; returns what follows it and the end of its line.
    #[inline]
    fn value<'a>(&mut self, bytes: &'a [u8], tell: &mut impl FnMut(StreamEvent)) -> &'a [u8] {
        match memchr::memchr2(b'\n', b'\r', bytes) {
            Some(end) => {
                self.data.text(&bytes[..end]);
                self.end_line(bytes[end], tell);
                &bytes[end + 1..]
            }
            None => {
                self.data.text(bytes);
                &[]
            }
        }
    }

    #[inline]
    fn byte(&mut self, byte: u8, tell: &mut impl FnMut(StreamEvent)) {
        self.line = match (self.line, byte) {
            (_, b'\n' | b'\r') => return self.end_line(byte, tell),
            (Line::Mark(at), _) if byte == MARK[usize::from(at)] => match at {
                2 => Line::Begin,
                _ => Line::Mark(at + 1),
            },
            // Part of a byte order mark is part of an unknown name.
            (Line::Mark(1..), _) => Line::Other,
            (Line::Mark(0) | Line::Begin, b'd') => Line::Name(1),
            (Line::Name(at), _) if NAME.get(usize::from(at)) == Some(&byte) => Line::Name(at + 1),
            (Line::Name(4), b':') => Line::Colon,
            (Line::Colon, b' ') => {
                self.begin_value();
                Line::Value
            }
            (Line::Colon, _) => {
                self.begin_value();
                self.data.text(&[byte]);
                Line::Value
            }
            _ => Line::Other,
        };
    }

    /// A field `data`; lines of one event are joined by line feeds, which separate words of JSON.
    fn begin_value(&mut self) {
        if std::mem::replace(&mut self.has_data, true) {
            self.data.text(b"\n");
        }
    }

    #[inline]
    fn end_line(&mut self, byte: u8, tell: &mut impl FnMut(StreamEvent)) {
        self.after_return = byte == b'\r';
        match std::mem::replace(&mut self.line, Line::Begin) {
            Line::Mark(0) | Line::Begin => {
                if std::mem::take(&mut self.has_data) {
                    tell(self.data.finish());
                }
            }
            // `data` alone, or with nothing after its colon, is a field without text.
            Line::Name(4) | Line::Colon => self.begin_value(),
            Line::Mark(_) | Line::Name(_) | Line::Value | Line::Other => {}
        }
    }
}

/// The numbers in the data of the current event.
#[derive(Debug, Clone, Copy)]
struct Data {
    state: Json,
    /// Objects and lists that are open.
    depth: u32,
    /// The current member.
    member: EventField,
    event: StreamEvent,
}

/// Position in the text of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Json {
    /// Before the object.
    Before,
    /// A name may start.
    BeforeName,
    /// In a name that matches this many bytes of these members.
    Name {
        seq: bool,
        at_ns: bool,
        length: u8,
    },
    /// After a backslash in a name: it is neither of ours.
    NameEscape,
    /// After a name.
    AfterName,
    /// A value may start.
    BeforeValue,
    /// In a whole number that is wanted.
    Number(u64),
    /// In some other value, or after one.
    Value,
    Text,
    TextEscape,
    /// After the object, or where there is none.
    After,
}

/// Which wanted number a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventField {
    Seq,
    AtNs,
    Other,
}

const SEQ: &[u8] = b"seq";
const AT_NS: &[u8] = b"at_ns";

impl Data {
    fn new() -> Self {
        Self {
            state: Json::Before,
            depth: 0,
            member: EventField::Other,
            event: StreamEvent::default(),
        }
    }

    /// The event is complete.
    #[inline]
    fn finish(&mut self) -> StreamEvent {
        let event = self.event;
        let is_whole = self.state == Json::After && self.depth == 0;
        *self = Self::new();
        // An object that is cut off may have ended inside a number.
        if is_whole { event } else { StreamEvent::default() }
    }

    #[inline]
    fn text(&mut self, text: &[u8]) {
        for &byte in text {
            self.byte(byte);
        }
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.state = match self.state {
            Json::Text => match byte {
                b'"' => Json::Value,
                b'\\' => Json::TextEscape,
                _ => Json::Text,
            },
            Json::TextEscape => Json::Text,
            Json::Number(value) => match byte {
                b'0'..=b'9' => {
                    let digit = u64::from(byte - b'0');
                    let grown = value.checked_mul(10).and_then(|value| value.checked_add(digit));
                    grown.map_or(Json::Value, Json::Number)
                }
                b',' | b'}' => {
                    self.keep(value);
                    self.in_value(byte)
                }
                _ if is_space => {
                    self.keep(value);
                    Json::Value
                }
                _ => Json::Value,
            },
            Json::Value => self.in_value(byte),
            Json::Before if is_space => Json::Before,
            Json::Before if byte == b'{' => {
                self.depth = 1;
                Json::BeforeName
            }
            Json::BeforeName | Json::AfterName | Json::BeforeValue if is_space => self.state,
            Json::BeforeName if byte == b'"' => Json::Name { seq: true, at_ns: true, length: 0 },
            Json::BeforeName => self.in_value(byte),
            Json::Name { seq, at_ns, length } => self.name(byte, seq, at_ns, length),
            Json::NameEscape => Json::Name { seq: false, at_ns: false, length: 0 },
            Json::AfterName if byte == b':' => Json::BeforeValue,
            Json::BeforeValue if byte.is_ascii_digit() && self.member != EventField::Other => {
                Json::Number(u64::from(byte - b'0'))
            }
            Json::BeforeValue => self.in_value(byte),
            Json::Before | Json::AfterName | Json::After => Json::After,
        };
    }

    #[inline]
    fn name(&mut self, byte: u8, seq: bool, at_ns: bool, length: u8) -> Json {
        let at = usize::from(length);
        match byte {
            b'"' => {
                self.member = match (seq && at == SEQ.len(), at_ns && at == AT_NS.len()) {
                    (true, _) => EventField::Seq,
                    (_, true) => EventField::AtNs,
                    _ => EventField::Other,
                };
                Json::AfterName
            }
            b'\\' => Json::NameEscape,
            _ => Json::Name {
                seq: seq && SEQ.get(at) == Some(&byte),
                at_ns: at_ns && AT_NS.get(at) == Some(&byte),
                length: length.saturating_add(1),
            },
        }
    }

    /// A byte of a value that is not a wanted number, or between two members.
    #[inline]
    fn in_value(&mut self, byte: u8) -> Json {
        match byte {
            b'"' => Json::Text,
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                Json::Value
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 { Json::After } else { Json::Value }
            }
            b',' if self.depth == 1 => Json::BeforeName,
            _ => Json::Value,
        }
    }

    fn keep(&mut self, value: u64) {
        match self.member {
            EventField::Seq => self.event.seq = Some(value),
            EventField::AtNs => self.event.at_ns = Some(value),
            EventField::Other => {}
        }
    }
}
