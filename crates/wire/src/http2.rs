//! HTTP/2 on one connection (RFC 9113), from bytes in pieces of any size.
//!
//! It is our own because the data plane must neither allocate nor do work for a request that it can
//! do before the run: the crates for HTTP/2 own sockets and tasks, or allocate for each stream and
//! field. Requests are frames that were encoded before the run ([`encode`](self::encode)); a send
//! copies them and writes the number of the stream. Of responses, what matters is read
//! ([`hpack`](self::hpack)), and nothing of them is kept.
//!
//! Our windows are as large as the protocol allows, so they hold nothing up, unless the load asks
//! for those of a usual client. The windows of the peer hold back the rest of a body, which leaves
//! as they open. In a conversation each message is held back until the reply to the one before it.
//! A peer that breaks a rule costs the connection, and our last frame says why (GOAWAY); one that
//! breaks a rule without effect on what follows is forgiven.
//!
//! Left out on purpose: pushes, which we forbid; priorities, which the RFC has withdrawn; and the
//! upgrade from HTTP/1.1, which it has withdrawn as well.
//!
//! Hot: runs for every response.

mod encode;
mod frame;
mod hpack;
mod huffman;
mod receive;
mod serve;
mod spell;
mod static_table;
mod streams;

pub use self::encode::Scheme;
pub(crate) use self::encode::{Nth, Shared};
pub use self::serve::{Asked, Echo, Ends, Form, Heard, Peer, Said, respond, say};
pub use self::spell::spell;

use self::frame::{FrameHead, HEAD_BYTES, PREFACE, WINDOW_INITIAL, WINDOW_MAX, code, flag, kind};
use self::hpack::Decoder;
use self::receive::Incoming;
use self::streams::{Stream, Streams, places};
use crate::response::{Expect, Outcome, Progress, ProtocolError, Response};
use crate::session::{MessageCount, RequestId, ResponseOrder, Session, Witness};
use crate::tape::Tape;
use model::streams::StreamTally;
use model::tick::Parts;
use std::ops::Range;

/// Bytes that are written for one send, before more of held back bodies waits for the next.
const OUTPUT_MAX: usize = 64 * 1024;
/// Most that a peer may make us owe while it takes nothing, bytes.
const DEBTS_MAX: usize = 16 * 1024;

/// A table of no size (RFC 7541 section 6.3).
const EMPTY_TABLE: [u8; 1] = [0x20];

/// One HTTP/2 connection.
#[derive(Debug)]
pub struct Http2 {
    streams: Streams,
    decoder: Decoder,
    incoming: Incoming,
    /// The settings of the peer have come.
    is_ready: bool,
    /// No new stream is opened any more.
    is_leaving: bool,
    /// Why the connection is given up; `NO_ERROR` while no rule was broken.
    error: u32,
    /// Streams above this one were not processed, and the worker is being told so.
    refused_above: Option<u32>,
    /// Streams that the peer allows at once.
    limit: u32,
    /// Window of the peer for a new stream, and for the connection.
    window_initial: i64,
    window: i64,
    next_id: u32,
    /// The table for header fields of ours that the peer keeps.
    table: PeerTable,
    /// Our window for each stream.
    own_window: u32,
    /// The peer keeps no table for us, so that each of its header blocks says everything itself.
    is_tableless: bool,
    /// Bytes that used up our window for the connection since it was refilled.
    used: u32,
    /// Frames to send.
    debts: Vec<u8>,
    /// Bodies that are held back, the oldest first, and messages that are due.
    held: Vec<Held>,
    parts: Parts,
    /// Messages of streams of them, since they were taken.
    messages: MessageCount,
    /// What the peer said of streams, and whether there is any of it, since it was told.
    news: StreamTally,
    has_news: bool,
    /// Bytes read that belong to no request, since they were taken.
    stray_bytes: u64,
    /// Bytes of requests that were held back until they were given up, since they were taken.
    dropped_bytes: u64,
}

/// The table for header fields of ours that the peer keeps. One that has less room for it than the
/// protocol gives it insists on being told what we use of that (RFC 7541 section 4.2): nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PeerTable {
    /// The next request inserts what all requests share.
    Empty,
    /// It has what all requests share.
    Primed,
    /// It has less room; the next header block says that we use none of it.
    Smaller,
    /// We said so.
    Unused,
}

/// The rest of a request on the tape, for which the peer's windows have no room yet, or of which a
/// message is due.
#[derive(Debug)]
struct Held {
    place: u32,
    id: u32,
    /// Where it lies on the tape.
    begin: usize,
    end: usize,
    /// Bytes left of the frame that `begin` is inside of, and its flags; 0 at the head of a frame.
    inside: u32,
    flags: u8,
    /// A window had no room for it.
    has_waited: bool,
}

impl Http2 {
    /// The same for a connection whose header fields are read as text: the peer may not refer to
    /// earlier ones (RFC 7541 section 4.2).
    pub fn without_table(self) -> Self {
        Self { is_tableless: true, ..self }
    }
}

impl Session for Http2 {
    const ALPN: &'static [u8] = b"h2";
    const ORDER: ResponseOrder = ResponseOrder::Any;
    const WRITES: bool = true;
    type Memory = ();

    // Cold: once for each connection slot.
    fn for_depth(depth: u32) -> Self {
        Self {
            streams: Streams::for_depth(depth),
            decoder: Decoder::new(),
            incoming: Incoming::new(),
            is_ready: false,
            is_leaving: false,
            error: code::NO_ERROR,
            refused_above: None,
            limit: u32::MAX,
            window_initial: i64::from(WINDOW_INITIAL),
            window: i64::from(WINDOW_INITIAL),
            next_id: 1,
            table: PeerTable::Empty,
            own_window: WINDOW_MAX,
            is_tableless: false,
            used: 0,
            debts: Vec::with_capacity(256),
            held: Vec::with_capacity(depth as usize),
            parts: Parts::default(),
            messages: MessageCount::default(),
            news: StreamTally::default(),
            has_news: false,
            stray_bytes: 0,
            dropped_bytes: 0,
        }
    }

    fn with_window(self, bytes: Option<u32>) -> Self {
        Self { own_window: bytes.unwrap_or(WINDOW_MAX), ..self }
    }

    fn places(depth: u32) -> u32 {
        places(depth)
    }

    // Cold: once for each connection.
    fn begin(&mut self, output: &mut Vec<u8>) {
        self.streams.clear();
        self.decoder.restart();
        self.incoming.restart();
        (self.is_ready, self.is_leaving, self.refused_above) = (false, false, None);
        self.error = code::NO_ERROR;
        self.limit = u32::MAX;
        self.window_initial = i64::from(WINDOW_INITIAL);
        self.window = i64::from(WINDOW_INITIAL);
        (self.next_id, self.used, self.table) = (1, 0, PeerTable::Empty);
        self.debts.clear();
        self.held.clear();
        (self.parts, self.stray_bytes, self.dropped_bytes) = (Parts::default(), 0, 0);
        (self.news, self.has_news) = (StreamTally::default(), false);
        self.messages = MessageCount::default();
        output.extend_from_slice(PREFACE);
        let mut settings = [0; 18];
        settings[1] = frame::setting::ENABLE_PUSH as u8;
        settings[7] = frame::setting::INITIAL_WINDOW_SIZE as u8;
        settings[8..12].copy_from_slice(&self.own_window.to_be_bytes());
        settings[13] = frame::setting::HEADER_TABLE_SIZE as u8;
        let length = if self.is_tableless { settings.len() } else { 12 };
        frame::put(kind::SETTINGS, 0, 0, &settings[..length], output);
        // That of the connection cannot be made smaller.
        let more = self.own_window.saturating_sub(WINDOW_INITIAL);
        if more > 0 {
            frame::put(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes(), output);
        }
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.is_ready
    }

    #[inline]
    fn capacity(&self) -> u32 {
        if self.is_leaving { 0 } else { self.limit }
    }

    #[inline]
    fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    #[inline]
    fn span(&self, tape: &Tape, position: u32, _count: u32) -> Range<usize> {
        match self.table {
            PeerTable::Primed => tape.span(position, 1),
            _ => tape.first(position),
        }
    }

    #[inline]
    fn write(&mut self, tape: &[u8], span: Range<usize>, output: &mut Vec<u8>) -> u32 {
        // The reset of a stream makes room for the next one.
        self.pay(output);
        let id = self.next_id;
        self.next_id += 2;
        self.is_leaving |= self.next_id > WINDOW_MAX;
        let place = self.streams.add(id, self.window_initial);
        let (mut at, first) = (span.start, output.len());
        loop {
            let head = FrameHead::at(&tape[at..]);
            let end = at + HEAD_BYTES + head.length as usize;
            let begin = output.len();
            output.extend_from_slice(&tape[at..end]);
            output[begin + 5..begin + HEAD_BYTES].copy_from_slice(&id.to_be_bytes());
            at = end;
            if head.has(flag::END_HEADERS) {
                break;
            }
        }
        match self.table {
            PeerTable::Empty => self.table = PeerTable::Primed,
            PeerTable::Smaller => {
                self.table = PeerTable::Unused;
                say_empty(first, output);
            }
            PeerTable::Primed | PeerTable::Unused => {}
        }
        match at < span.end {
            true => self.write_body(Held::new((place, id), (at, span.end)), tape, output),
            false => self.streams.at(place).is_sent = true,
        }
        place
    }

    #[inline]
    fn is_owing(&self) -> bool {
        !self.debts.is_empty() || !self.held.is_empty()
    }

    #[inline]
    fn owes(&mut self, tape: &[u8], output: &mut Vec<u8>) {
        self.pay(output);
        if !self.held.is_empty() {
            self.release(tape, output);
        }
    }

    #[inline]
    fn held(&self) -> u32 {
        self.held.iter().filter(|held| held.has_waited).count() as u32
    }

    #[inline]
    fn tell(&mut self, tally: &mut StreamTally) {
        if std::mem::take(&mut self.has_news) {
            *tally += &std::mem::take(&mut self.news);
        }
    }

    fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped_bytes)
    }

    // Cold: the connection is given up.
    fn held_bytes(&self) -> u64 {
        self.held.iter().map(Held::bytes).sum::<u64>() + self.streams.waiting_bytes()
    }

    // Cold: a request took too long.
    fn cancel(&mut self, place: u32) {
        let id = self.streams.at(place).id;
        self.streams.remove(place);
        if self.incoming.place == Some(place) {
            // The rest of its frame belongs to no request.
            self.incoming.place = None;
        }
        self.owe(kind::RST_STREAM, 0, id, &code::CANCEL.to_be_bytes());
        self.drop_rest(place);
    }

    // Cold: the connection is given up.
    fn farewell(&mut self, output: &mut Vec<u8>) {
        self.pay(output);
        // We accept no streams of the peer, so the last that we took is none.
        let payload = [[0; 4], self.error.to_be_bytes()].concat();
        frame::put(kind::GOAWAY, 0, 0, &payload, output);
    }

    #[inline]
    fn addressee(&mut self, input: &mut &[u8]) -> Result<Option<RequestId>, ProtocolError> {
        match self.refused() {
            Some(place) => Ok(Some(RequestId::At(place))),
            None => self.next_of_stream(input).inspect_err(|fault| self.blame(*fault)),
        }
    }

    #[inline]
    fn receive<W: Witness>(
        &mut self,
        input: &mut &[u8],
        expect: Expect,
        _memory: &mut (),
        witness: &mut W,
    ) -> Result<Option<Outcome>, ProtocolError> {
        if let Some(place) = self.refused() {
            self.streams.remove(place);
            self.drop_rest(place);
            return Ok(Some(Outcome::Refused));
        }
        let place = self.incoming.place.expect("the addressee was asked for");
        let received = self.receive_frame(place, input, expect, witness);
        received.inspect_err(|fault| self.blame(*fault))
    }

    fn end(&mut self) -> Result<Option<Response>, ProtocolError> {
        Ok(None)
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }

    #[inline]
    fn take_parts(&mut self) -> Parts {
        std::mem::take(&mut self.parts)
    }

    #[inline]
    fn take_messages(&mut self) -> MessageCount {
        std::mem::take(&mut self.messages)
    }

    #[inline]
    fn take_stray(&mut self) -> u64 {
        std::mem::take(&mut self.stray_bytes)
    }
}

impl Http2 {
    /// The place of a stream that was not processed, if there is one that the worker has not been
    /// told about.
    #[inline]
    fn refused(&mut self) -> Option<u32> {
        let above = self.refused_above?;
        let place = self.streams.above(above);
        if place.is_none() {
            self.refused_above = None;
        }
        place
    }

    /// Writes the frames that are owed.
    #[inline]
    fn pay(&mut self, output: &mut Vec<u8>) {
        if !self.debts.is_empty() {
            output.extend_from_slice(&self.debts);
            self.debts.clear();
        }
    }

    /// Owes a frame.
    fn owe(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frame::put(kind, flags, stream, payload, &mut self.debts);
    }

    /// The peer may not make us owe more than it takes.
    fn check_flood(&mut self) -> Result<(), ProtocolError> {
        let is_flooded = self.debts.len() > DEBTS_MAX;
        if is_flooded { Err(self.broken(code::ENHANCE_YOUR_CALM)) } else { Ok(()) }
    }

    /// A frame broke a rule, which has this code.
    #[cold]
    fn broken(&mut self, code: u32) -> ProtocolError {
        self.error = code;
        ProtocolError::BadFrame
    }

    /// The connection is given up for a fault: notes its code, unless it has one of its own.
    #[cold]
    fn blame(&mut self, fault: ProtocolError) {
        if self.error == code::NO_ERROR {
            self.error = match fault {
                ProtocolError::BadHeaderBlock => code::COMPRESSION_ERROR,
                ProtocolError::HeadTooLong => code::ENHANCE_YOUR_CALM,
                _ => code::PROTOCOL_ERROR,
            };
        }
    }

    /// Writes as much of a body as there is room for, and holds the rest back.
    fn write_body(&mut self, mut held: Held, tape: &[u8], output: &mut Vec<u8>) {
        let stream = self.streams.at(held.place);
        if !held.pour((&mut self.window, stream), tape, output) {
            self.held.push(held);
            self.count_held();
        }
    }

    /// Writes what is held back, as far as windows have room.
    fn release(&mut self, tape: &[u8], output: &mut Vec<u8>) {
        let (window, streams) = (&mut self.window, &mut self.streams);
        self.held.retain_mut(|held| {
            let stream = streams.at(held.place);
            !held.pour((&mut *window, stream), tape, output)
        });
        self.count_held();
    }

    /// Notes which requests wait for a window, each once.
    fn count_held(&mut self) {
        let window = self.window;
        for held in self.held.iter_mut().filter(|held| !held.has_waited) {
            held.has_waited = window.min(self.streams.at(held.place).window) <= 0;
            self.news.held += u64::from(held.has_waited);
            self.has_news |= held.has_waited;
        }
    }

    /// Has something to tell.
    #[cold]
    fn news(&mut self) -> &mut StreamTally {
        self.has_news = true;
        &mut self.news
    }

    /// Forgets what was not written of a request.
    fn drop_rest(&mut self, place: u32) {
        let stream = self.streams.at(place);
        self.dropped_bytes += stream.waiting_bytes();
        stream.waiting = (0, 0);
        if let Some(nth) = self.held.iter().position(|held| held.place == place) {
            self.dropped_bytes += self.held.remove(nth).bytes();
        }
    }
}

/// Says at the front of the header block whose frame begins here that our table is empty.
#[cold]
fn say_empty(frame: usize, output: &mut Vec<u8>) {
    let length = FrameHead::at(&output[frame..]).length + EMPTY_TABLE.len() as u32;
    output[frame..frame + 3].copy_from_slice(&length.to_be_bytes()[1..]);
    let block = frame + HEAD_BYTES;
    output.splice(block..block, EMPTY_TABLE);
}

impl Held {
    /// What lies at a place of the tape, from the head of a frame.
    fn new((place, id): (u32, u32), (begin, end): (usize, usize)) -> Self {
        Self { place, id, begin, end, inside: 0, flags: 0, has_waited: false }
    }

    /// Bytes of it on the tape.
    fn bytes(&self) -> u64 {
        (self.end - self.begin) as u64
    }

    /// Writes as much as the windows of the connection and of the stream have room for; true when
    /// nothing is left that may be written.
    fn pour(
        &mut self,
        (window, stream): (&mut i64, &mut Stream),
        tape: &[u8],
        output: &mut Vec<u8>,
    ) -> bool {
        loop {
            if self.inside == 0 {
                let head = FrameHead::at(&tape[self.begin..]);
                (self.inside, self.flags) = (head.length, head.flags);
                self.begin += HEAD_BYTES;
            }
            let room = OUTPUT_MAX.saturating_sub(output.len()) as i64;
            let most = room.min(*window).min(stream.window).max(0);
            let length = most.min(i64::from(self.inside)) as u32;
            if length == 0 && self.inside > 0 {
                return false;
            }
            let flags = if length == self.inside { self.flags & !flag::WAITS } else { 0 };
            FrameHead { length, kind: kind::DATA, flags, stream: self.id }.put(output);
            output.extend_from_slice(&tape[self.begin..self.begin + length as usize]);
            self.begin += length as usize;
            self.inside -= length;
            *window -= i64::from(length);
            stream.window -= i64::from(length);
            if self.inside == 0 && self.flags & (flag::WAITS | flag::END_STREAM) != 0 {
                stream.asked += 1;
                stream.is_sent = self.begin == self.end;
                stream.waiting = (self.begin, self.end);
                return true;
            }
        }
    }
}
