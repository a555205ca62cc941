//! The server's side of a connection, as far as simulations and tests need one: what a client sent,
//! and frames to answer it with.
//!
//! It reads a client strictly: a frame that a client may not send is a panic.

use super::encode::{PREFIX_BYTES, put_block, put_body};
use super::frame::{
    self, FrameHead, HEAD_BYTES, PREFACE, WINDOW_INITIAL, WINDOW_MAX, flag, kind, setting,
};
use super::hpack::{Literal, put_field};
use super::streams::Stream;
use crate::response::Expect;
use crate::session::Reply;
use std::collections::BTreeMap;

/// A frame that a client sent; its parts have the names of RFC 9113.
#[allow(missing_docs, reason = "the RFC has them")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A request: its stream, the bytes of its header block, and whether it has no body.
    Head { stream: u32, block_bytes: u32, ends: bool },
    /// A part of a body, and how many messages of gRPC it completes.
    Body { stream: u32, bytes: u32, messages: u32, ends: bool },
    /// A stream is given up.
    Reset { stream: u32, code: u32 },
    /// A window grows; stream 0 is the connection.
    Window { stream: u32, more: u32 },
    /// The settings of the client, with its window for each stream.
    Settings { window: u32 },
    /// Our settings were read.
    Acknowledged,
    /// Our PING was answered.
    Pong,
    /// The connection is given up.
    Goaway { code: u32 },
}

/// Reads what a client sends.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    bytes: Vec<u8>,
    is_greeted: bool,
    /// A header block that goes on.
    open_block: Option<(u32, u32, bool)>,
    /// Requests with a body that is not whole.
    streams: BTreeMap<u32, Stream>,
}

impl Peer {
    /// Takes bytes as they come, and shows each whole frame.
    pub fn take(&mut self, bytes: &[u8], mut see: impl FnMut(Asked)) {
        self.bytes.extend_from_slice(bytes);
        if !self.is_greeted {
            if self.bytes.len() < PREFACE.len() {
                return;
            }
            assert!(self.bytes.starts_with(PREFACE), "a client starts with the preface");
            self.bytes.drain(..PREFACE.len());
            self.is_greeted = true;
        }
        let mut at = 0;
        while let Some(head) = self.bytes[at..].first_chunk::<HEAD_BYTES>() {
            let head = FrameHead::read(head);
            let begin = at + HEAD_BYTES;
            let Some(payload) = self.bytes[begin..].get(..head.length as usize) else { break };
            let messages = match head.kind {
                kind::DATA => self.streams.entry(head.stream).or_default().measure(payload),
                _ => 0,
            };
            if head.has(flag::END_STREAM) || head.kind == kind::RST_STREAM {
                self.streams.remove(&head.stream);
            }
            let asked = asked(&mut self.open_block, head, (payload, messages));
            asked.into_iter().for_each(&mut see);
            at = begin + head.length as usize;
        }
        self.bytes.drain(..at);
    }
}

fn asked(
    open_block: &mut Option<(u32, u32, bool)>,
    head: FrameHead,
    (payload, messages): (&[u8], u32),
) -> Option<Asked> {
    let FrameHead { length, stream, .. } = head;
    let number = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().expect("4 bytes"));
    let goes_on = head.kind == kind::CONTINUATION;
    assert_eq!(open_block.is_some(), goes_on, "a header block is in one piece");
    match head.kind {
        kind::HEADERS | kind::CONTINUATION => {
            let (of, bytes, ends) =
                open_block.take().unwrap_or((stream, 0, head.has(flag::END_STREAM)));
            assert!(of == stream && stream % 2 == 1, "stream {stream}");
            let block_bytes = bytes + length;
            if head.has(flag::END_HEADERS) {
                return Some(Asked::Head { stream, block_bytes, ends });
            }
            *open_block = Some((stream, block_bytes, ends));
            None
        }
        kind::DATA => {
            let ends = head.has(flag::END_STREAM);
            Some(Asked::Body { stream, bytes: length, messages, ends })
        }
        kind::RST_STREAM => Some(Asked::Reset { stream, code: number(0) }),
        kind::WINDOW_UPDATE => Some(Asked::Window { stream, more: number(0) }),
        kind::SETTINGS if head.has(flag::ACK) => Some(Asked::Acknowledged),
        kind::SETTINGS => {
            let is_window = |pair: &&[u8]| pair[..2] == setting::INITIAL_WINDOW_SIZE.to_be_bytes();
            let pair = payload.chunks(6).find(is_window);
            let value = |pair: &[u8]| u32::from_be_bytes(pair[2..].try_into().expect("4 bytes"));
            Some(Asked::Settings { window: pair.map_or(frame::WINDOW_INITIAL, value) })
        }
        kind::PING if head.has(flag::ACK) => Some(Asked::Pong),
        kind::GOAWAY => Some(Asked::Goaway { code: number(4) }),
        other => panic!("a client sends no frame of type {other}"),
    }
}

/// What a server sends; its parts have the names of RFC 9113.
#[allow(missing_docs, reason = "the RFC has them")]
#[derive(Debug, Clone, Copy)]
pub enum Said<'a> {
    /// Settings: how many streams, and the window of each.
    Settings { streams: Option<u32>, window: Option<u32> },
    /// The client's settings were read.
    Acknowledged,
    /// A head or, without a status, trailers.
    Head {
        stream: u32,
        status: Option<u16>,
        fields: &'a [(&'a str, &'a str)],
        ends: Ends,
        form: Form,
    },
    /// A part of a body, with so many bytes of padding.
    Body { stream: u32, body: &'a [u8], ends: Ends, padding: Option<u8> },
    /// A stream is given up.
    Reset { stream: u32, code: u32 },
    /// No stream above this one is processed, and the connection ends.
    Goaway { last: u32, code: u32 },
    /// A window grows.
    Window { stream: u32, more: u32 },
    /// A question whether the client is there.
    Ping,
    /// A frame of a type that no RFC has.
    Unknown { stream: u32 },
}

/// Whether a frame is the last of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// It is.
    Yes,
    /// More follows.
    No,
}

/// How a header block is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In one frame.
    Whole,
    /// In frames of so many bytes at most.
    Pieces(usize),
    /// With padding and a priority.
    Padded(u8),
}

impl Ends {
    fn flag(self) -> u8 {
        match self {
            Self::Yes => flag::END_STREAM,
            Self::No => 0,
        }
    }
}

/// Appends what a server sends.
pub fn say(said: &Said<'_>, output: &mut Vec<u8>) {
    match *said {
        Said::Settings { streams, window } => {
            let mut payload = Vec::new();
            let values = [
                (setting::MAX_CONCURRENT_STREAMS, streams),
                (setting::INITIAL_WINDOW_SIZE, window),
            ];
            for (name, value) in values {
                if let Some(value) = value {
                    payload.extend_from_slice(&name.to_be_bytes());
                    payload.extend_from_slice(&value.to_be_bytes());
                }
            }
            frame::put(kind::SETTINGS, 0, 0, &payload, output);
        }
        Said::Acknowledged => frame::put(kind::SETTINGS, flag::ACK, 0, &[], output),
        Said::Head { stream, status, fields, ends, form } => {
            let mut block = Vec::new();
            if let Some(status) = status {
                put_field(":status", status.to_string().as_bytes(), Literal::Plain, &mut block);
            }
            for (name, value) in fields {
                put_field(name, value.as_bytes(), Literal::Plain, &mut block);
            }
            put_head(&block, stream, ends, form, output);
        }
        Said::Body { stream, body, ends, padding: None } => {
            frame::put(kind::DATA, ends.flag(), stream, body, output);
        }
        Said::Body { stream, body, ends, padding: Some(padding) } => {
            let payload = [&[padding], body, &vec![0; usize::from(padding)]].concat();
            frame::put(kind::DATA, ends.flag() | flag::PADDED, stream, &payload, output);
        }
        Said::Reset { stream, code } => {
            frame::put(kind::RST_STREAM, 0, stream, &code.to_be_bytes(), output);
        }
        Said::Goaway { last, code } => {
            let payload = [&last.to_be_bytes()[..], &code.to_be_bytes(), b"bye"].concat();
            frame::put(kind::GOAWAY, 0, 0, &payload, output);
        }
        Said::Window { stream, more } => {
            frame::put(kind::WINDOW_UPDATE, 0, stream, &(more & WINDOW_MAX).to_be_bytes(), output);
        }
        Said::Ping => frame::put(kind::PING, 0, 0, &[7; 8], output),
        Said::Unknown { stream } => frame::put(0x42, 0xff, stream, b"anything", output),
    }
}

/// Appends a header block in a form.
fn put_head(block: &[u8], stream: u32, ends: Ends, form: Form, output: &mut Vec<u8>) {
    match form {
        Form::Whole => put_block(block, ends.flag(), stream, output),
        Form::Pieces(most) => {
            let pieces: Vec<_> = block.chunks(most.max(1)).collect();
            for (nth, piece) in pieces.iter().enumerate() {
                let (kind, first) = match nth {
                    0 => (kind::HEADERS, ends.flag()),
                    _ => (kind::CONTINUATION, 0),
                };
                let last = if nth + 1 == pieces.len() { flag::END_HEADERS } else { 0 };
                frame::put(kind, first | last, stream, piece, output);
            }
        }
        Form::Padded(padding) => {
            let padding_bytes = vec![0; usize::from(padding)];
            let payload = [&[padding][..], &[0, 0, 0, 0, 9], block, &padding_bytes].concat();
            let flags = ends.flag() | flag::END_HEADERS | flag::PADDED | flag::PRIORITY;
            frame::put(kind::HEADERS, flags, stream, &payload, output);
        }
    }
}

/// Answers every whole request with the same response, and does nothing else: a server without
/// costs.
#[derive(Debug)]
pub struct Echo {
    greeting: Vec<u8>,
    /// What a header block of a request, a message and the end of a request are answered with.
    to_head: Frames,
    to_message: Frames,
    to_end: Frames,
}

/// What an [`Echo`] keeps of a connection.
#[derive(Debug, Default)]
pub struct Heard {
    /// Bytes of bodies since the window of the connection was refilled.
    used: u32,
    /// Messages of which a frame had only a part.
    cut: Vec<(u32, Stream)>,
}

/// Frames on stream 0, and where they have the number of the stream.
#[derive(Debug, Default)]
struct Frames {
    bytes: Vec<u8>,
    streams: Vec<usize>,
}

impl Frames {
    fn of(bytes: Vec<u8>) -> Self {
        let (mut streams, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            streams.push(at + 5);
            at += HEAD_BYTES + FrameHead::at(&bytes[at..]).length as usize;
        }
        Self { bytes, streams }
    }

    #[inline]
    fn put(&self, stream: u32, output: &mut Vec<u8>) {
        let begin = output.len();
        output.extend_from_slice(&self.bytes);
        for place in &self.streams {
            let number = &mut output[begin + place..begin + place + 4];
            number.copy_from_slice(&stream.to_be_bytes());
        }
    }
}

impl Echo {
    /// The server with this response, or for requests that are calls one with empty replies.
    pub fn new(reply: &Reply<'_>, expect: Expect) -> Self {
        let mut greeting = Vec::new();
        say(&Said::Settings { streams: None, window: Some(WINDOW_MAX) }, &mut greeting);
        say(&Said::Window { stream: 0, more: WINDOW_MAX - WINDOW_INITIAL }, &mut greeting);
        let (mut head, mut message, mut end) = (Vec::new(), Vec::new(), Vec::new());
        let each = match expect {
            Expect::Body | Expect::HeadOnly => {
                respond(0, reply, &mut end);
                let (to_head, to_message) = (Frames::default(), Frames::default());
                return Self { greeting, to_head, to_message, to_end: Frames::of(end) };
            }
            Expect::Call | Expect::Stream => &mut end,
            Expect::Conversation => &mut message,
        };
        let (stream, form) = (0, Form::Whole);
        let fields = &[("content-type", "application/grpc")];
        let status = Some(reply.status);
        say(&Said::Head { stream, status, fields, ends: Ends::No, form }, &mut head);
        let body = &[0; PREFIX_BYTES];
        say(&Said::Body { stream, body, ends: Ends::No, padding: None }, each);
        let fields = &[("grpc-status", "0")];
        say(&Said::Head { stream, status: None, fields, ends: Ends::Yes, form }, &mut end);
        let (to_head, to_message) = (Frames::of(head), Frames::of(message));
        Self { greeting, to_head, to_message, to_end: Frames::of(end) }
    }

    /// Answers what a client sent at once, which is whole frames; the first words of a connection
    /// are the preface.
    pub fn answer(&self, heard: &mut Heard, asked: &[u8], output: &mut Vec<u8>) {
        let mut at = 0;
        if asked.starts_with(PREFACE) {
            output.extend_from_slice(&self.greeting);
            at = PREFACE.len();
            heard.used = 0;
            heard.cut.clear();
        }
        while at < asked.len() {
            let head = FrameHead::at(&asked[at..]);
            let payload = at + HEAD_BYTES;
            at = payload + head.length as usize;
            match head.kind {
                kind::HEADERS => self.to_head.put(head.stream, output),
                kind::DATA => self.hear(heard, head, &asked[payload..at], output),
                kind::RST_STREAM => heard.cut.retain(|(stream, _)| *stream != head.stream),
                _ => {}
            }
            if matches!(head.kind, kind::DATA | kind::HEADERS) && head.has(flag::END_STREAM) {
                self.to_end.put(head.stream, output);
            }
        }
    }

    /// A part of a body came.
    #[inline]
    fn hear(&self, heard: &mut Heard, head: FrameHead, payload: &[u8], output: &mut Vec<u8>) {
        heard.used += head.length;
        if heard.used > WINDOW_MAX / 2 {
            say(&Said::Window { stream: 0, more: std::mem::take(&mut heard.used) }, output);
        }
        if self.to_message.bytes.is_empty() {
            return;
        }
        let before = heard.cut.iter().position(|(stream, _)| *stream == head.stream);
        let mut stream = before.map_or(Stream::default(), |nth| heard.cut.swap_remove(nth).1);
        for _ in 0..stream.measure(payload) {
            self.to_message.put(head.stream, output);
        }
        if stream.is_within() {
            heard.cut.push((head.stream, stream));
        }
    }
}

/// Appends a whole response as a server would write it.
pub fn respond(stream: u32, reply: &Reply<'_>, output: &mut Vec<u8>) {
    let Reply { status, fields, body, .. } = *reply;
    let mut block = Vec::new();
    put_field(":status", status.to_string().as_bytes(), Literal::Plain, &mut block);
    for (name, value) in fields {
        put_field(&name.to_ascii_lowercase(), value.as_bytes(), Literal::Plain, &mut block);
    }
    put_field("content-length", body.len().to_string().as_bytes(), Literal::Plain, &mut block);
    put_block(&block, if body.is_empty() { flag::END_STREAM } else { 0 }, stream, output);
    put_body(body, flag::END_STREAM, stream, output);
}
