//! What comes on a connection, frame by frame.
//!
//! A frame is read where it lies in the input. What comes in pieces goes through a few bytes of
//! memory, or for a header block through a buffer of the connection.
//!
//! Hot: runs for every frame.

use super::frame::{
    FrameHead, HEAD_BYTES, PAYLOAD_MAX, PRIORITY_BYTES, WINDOW_INITIAL, WINDOW_MAX, code, flag,
    kind, setting,
};
use super::hpack::{Fields, Part, TABLE_MAX};
use super::streams::Body;
use super::{Held, Http2, PeerTable};
use crate::http1::HEAD_BYTES_MAX;
use crate::response::{Expect, Outcome, ProtocolError, Response};
use crate::session::{RequestId, Session as _, Witness};
use model::call::CallStatus;
use model::streams::StreamCode;

/// Bytes that are read together, at most.
const UNIT_MAX: usize = HEAD_BYTES;

/// The frame that is arriving.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Its head; absent between two frames.
    frame: Option<FrameHead>,
    /// The place of its stream, if that is in flight.
    pub place: Option<u32>,
    /// Bytes of its payload still to come, and how many of them at the end are padding.
    left: u32,
    pad: u32,
    /// The byte that says how much padding there is has not come.
    is_pad_due: bool,
    /// What is read together: the head of a frame, a setting, a number.
    unit: [u8; UNIT_MAX],
    unit_length: usize,
    /// The rest of the payload does not matter.
    is_passed: bool,
    /// The header block so far, if it came in pieces.
    block: Vec<u8>,
    /// Bytes of the frames of the block so far.
    block_bytes: u64,
    /// The stream of the block, which must go on with the next frame.
    block_stream: Option<u32>,
    /// The response ends with the block.
    block_ends: bool,
}

impl Incoming {
    // Cold: once for each connection slot.
    pub fn new() -> Self {
        Self {
            frame: None,
            place: None,
            left: 0,
            pad: 0,
            is_pad_due: false,
            unit: [0; UNIT_MAX],
            unit_length: 0,
            is_passed: false,
            block: Vec::with_capacity(256),
            block_bytes: 0,
            block_stream: None,
            block_ends: false,
        }
    }

    /// For a fresh connection.
    pub fn restart(&mut self) {
        (self.frame, self.place, self.unit_length) = (None, None, 0);
        self.block.clear();
        self.block_stream = None;
    }

    /// Takes bytes until `length` of them are together; `None` until then.
    fn unit(&mut self, input: &mut &[u8], length: usize) -> Option<[u8; UNIT_MAX]> {
        let take = (length - self.unit_length).min(input.len());
        let (bytes, rest) = input.split_at(take);
        self.unit[self.unit_length..self.unit_length + take].copy_from_slice(bytes);
        *input = rest;
        self.unit_length += take;
        if self.unit_length < length {
            return None;
        }
        self.unit_length = 0;
        Some(self.unit)
    }

    /// The head of the next frame.
    #[inline]
    fn head(&mut self, input: &mut &[u8]) -> Option<FrameHead> {
        if self.unit_length == 0
            && let Some((head, rest)) = input.split_first_chunk::<HEAD_BYTES>()
        {
            *input = rest;
            return Some(FrameHead::read(head));
        }
        self.unit(input, HEAD_BYTES).map(|unit| FrameHead::read(&unit))
    }
}

impl Http2 {
    /// Consumes what belongs to no stream in flight, up to a frame that does: the place of its
    /// stream.
    #[inline]
    pub(super) fn next_of_stream(
        &mut self,
        input: &mut &[u8],
    ) -> Result<Option<RequestId>, ProtocolError> {
        loop {
            let frame = match self.incoming.frame {
                Some(frame) => frame,
                None => {
                    let Some(frame) = self.incoming.head(input) else { return Ok(None) };
                    self.begin_frame(frame)?;
                    frame
                }
            };
            if input.is_empty() && self.incoming.left > 0 {
                return Ok(None);
            }
            if let Some(place) = self.incoming.place {
                return Ok(Some(RequestId::At(place)));
            }
            self.take_control(frame, input)?;
            if let Some(place) = self.refused() {
                return Ok(Some(RequestId::At(place)));
            }
        }
    }

    /// The head of a frame came: checks that it may come now.
    #[inline]
    fn begin_frame(&mut self, frame: FrameHead) -> Result<(), ProtocolError> {
        use ProtocolError::{BadFrame, NotHttp2};
        let FrameHead { length, stream, .. } = frame;
        let is_settings = frame.kind == kind::SETTINGS && !frame.has(flag::ACK);
        if !(self.is_ready || is_settings && length <= PAYLOAD_MAX) {
            return Err(NotHttp2);
        }
        let goes_on = frame.kind == kind::CONTINUATION;
        if length > PAYLOAD_MAX || !frame.is_sized() {
            return Err(self.broken(code::FRAME_SIZE_ERROR));
        }
        if self.incoming.block_stream != goes_on.then_some(stream) {
            return Err(BadFrame);
        }
        let was_opened = stream % 2 == 1 && stream < self.next_id;
        let is_right = match frame.kind {
            kind::DATA | kind::HEADERS | kind::CONTINUATION | kind::RST_STREAM => was_opened,
            kind::PRIORITY => stream != 0,
            kind::SETTINGS | kind::PING | kind::GOAWAY => stream == 0,
            kind::WINDOW_UPDATE => stream == 0 || was_opened,
            kind::PUSH_PROMISE => false,
            _ => true,
        };
        if !is_right {
            return Err(BadFrame);
        }
        let incoming = &mut self.incoming;
        (incoming.frame, incoming.left, incoming.pad) = (Some(frame), length, 0);
        (incoming.place, incoming.is_passed) = (None, false);
        incoming.is_pad_due = frame.kind == kind::DATA && frame.has(flag::PADDED);
        let is_of_stream = matches!(
            frame.kind,
            kind::DATA | kind::HEADERS | kind::CONTINUATION | kind::RST_STREAM
        );
        let bytes = HEAD_BYTES as u64 + u64::from(length);
        if is_of_stream && let Some(place) = self.streams.find(stream) {
            self.incoming.place = Some(place);
            self.streams.at(place).bytes += bytes;
        } else {
            self.stray_bytes += bytes;
        }
        match frame.kind {
            kind::DATA => self.use_window(frame)?,
            kind::HEADERS | kind::CONTINUATION => self.begin_block(frame)?,
            _ => {}
        }
        Ok(())
    }

    /// Bytes of a body use up our windows, which are refilled in halves; a stream that ends needs
    /// no more.
    #[inline]
    fn use_window(&mut self, frame: FrameHead) -> Result<(), ProtocolError> {
        let own = self.own_window;
        let whole = own.max(WINDOW_INITIAL);
        self.used += frame.length;
        let mut is_over = self.used > whole;
        if self.used >= refill_at(whole) {
            let used = std::mem::take(&mut self.used);
            self.owe(kind::WINDOW_UPDATE, 0, 0, &used.to_be_bytes());
        }
        if let Some(place) = self.incoming.place {
            let stream = self.streams.at(place);
            stream.used += frame.length;
            is_over |= stream.used > own;
            if stream.used >= refill_at(own) && !frame.has(flag::END_STREAM) {
                let (id, used) = (stream.id, std::mem::take(&mut stream.used));
                self.owe(kind::WINDOW_UPDATE, 0, id, &used.to_be_bytes());
            }
        }
        if is_over { Err(self.broken(code::FLOW_CONTROL_ERROR)) } else { Ok(()) }
    }

    /// A frame with a part of a header block began. Its length is bounded like a head of HTTP/1.1,
    /// frames included, so that a server cannot send one without end.
    #[inline]
    fn begin_block(&mut self, frame: FrameHead) -> Result<(), ProtocolError> {
        let incoming = &mut self.incoming;
        if frame.kind == kind::HEADERS {
            incoming.block_ends = frame.has(flag::END_STREAM);
            incoming.block_bytes = 0;
        }
        incoming.block_bytes += HEAD_BYTES as u64 + u64::from(frame.length);
        let is_whole = frame.has(flag::END_HEADERS);
        incoming.block_stream = (!is_whole).then_some(frame.stream);
        if incoming.block_bytes > HEAD_BYTES_MAX {
            return Err(ProtocolError::HeadTooLong);
        }
        Ok(())
    }

    /// Consumes bytes of the current frame of a stream in flight.
    #[inline]
    pub(super) fn receive_frame<W: Witness>(
        &mut self,
        place: u32,
        input: &mut &[u8],
        expect: Expect,
        witness: &mut W,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let frame = self.incoming.frame.expect("a frame that is not over");
        match frame.kind {
            kind::DATA => {
                if self.streams.at(place).status == 0 {
                    return Err(ProtocolError::BadFrame);
                }
                let piece = self.take_data(input, witness)?;
                let stream = self.streams.at(place);
                let before = stream.came;
                stream.came += piece.len() as u64;
                match expect {
                    Expect::Body | Expect::HeadOnly => {}
                    Expect::Call => {
                        stream.measure(piece);
                    }
                    Expect::Stream => self.messages.came += stream.measure(piece),
                    Expect::Conversation => {
                        self.messages = stream.hear(piece);
                        if stream.is_unasked() {
                            return self.interrupt(place, expect);
                        }
                        if self.messages.due > 0 {
                            let waiting = std::mem::take(&mut stream.waiting);
                            self.held.push(Held::new((place, stream.id), waiting));
                        }
                    }
                }
                match stream.body {
                    Body::Announced(length) if stream.came > length => {
                        return Err(ProtocolError::LongBody);
                    }
                    Body::None if stream.came > before => {
                        return Err(match stream.status {
                            204 | 304 => ProtocolError::NoContentBody,
                            _ => ProtocolError::HeadBody,
                        });
                    }
                    _ => {}
                }
                if self.incoming.left > 0 {
                    return Ok(None);
                }
                self.incoming.frame = None;
                if frame.has(flag::END_STREAM) { self.complete(place, expect) } else { Ok(None) }
            }
            kind::RST_STREAM => {
                let Some(code) = self.number(input) else { return Ok(None) };
                self.incoming.frame = None;
                self.streams.remove(place);
                self.drop_rest(place);
                self.news().resets.add(StreamCode::of(code), 1);
                let is_refused = code == code::REFUSED_STREAM;
                Ok(Some(if is_refused { Outcome::Refused } else { Outcome::Abandoned }))
            }
            _ => {
                let is_head = self.streams.at(place).status == 0;
                let part = if is_head { Part::Head } else { Part::Trailers };
                let fields = self.take_block(frame, part, input, witness)?;
                let Some(fields) = fields else { return Ok(None) };
                self.head(place, fields, expect, witness)
            }
        }
    }

    /// Four bytes that are a number.
    fn number(&mut self, input: &mut &[u8]) -> Option<u32> {
        let unit = self.incoming.unit(input, 4)?;
        self.incoming.left = 0;
        Some(u32::from_be_bytes([unit[0], unit[1], unit[2], unit[3]]))
    }

    /// Consumes bytes of a DATA frame; returns those that are of the body.
    #[inline]
    fn take_data<'a, W: Witness>(
        &mut self,
        input: &mut &'a [u8],
        witness: &mut W,
    ) -> Result<&'a [u8], ProtocolError> {
        let incoming = &mut self.incoming;
        if incoming.is_pad_due {
            let pad = match (incoming.left, input.split_first()) {
                (0, _) => return Err(ProtocolError::BadFrame),
                (_, None) => return Ok(&[]),
                (_, Some((&pad, rest))) => {
                    *input = rest;
                    u32::from(pad)
                }
            };
            incoming.left -= 1;
            (incoming.pad, incoming.is_pad_due) = (pad, false);
            if pad > incoming.left {
                return Err(ProtocolError::BadFrame);
            }
        }
        let body = (incoming.left - incoming.pad).min(input.len() as u32);
        let (piece, rest) = input.split_at(body as usize);
        if body > 0 {
            witness.body(piece);
        }
        let pad = if incoming.left - body == incoming.pad { incoming.pad } else { 0 };
        let pad = pad.min(rest.len() as u32);
        *input = &rest[pad as usize..];
        incoming.left -= body + pad;
        incoming.pad -= pad;
        Ok(piece)
    }

    /// Consumes bytes of a frame with a part of a header block; returns the fields at its end.
    #[inline]
    fn take_block<W: Witness>(
        &mut self,
        frame: FrameHead,
        part: Part,
        input: &mut &[u8],
        witness: &mut W,
    ) -> Result<Option<Fields>, ProtocolError> {
        let incoming = &mut self.incoming;
        let left = incoming.left as usize;
        let is_alone = frame.kind == kind::HEADERS && left == frame.length as usize;
        if is_alone && frame.has(flag::END_HEADERS) && left <= input.len() {
            let (payload, rest) = input.split_at(left);
            *input = rest;
            (incoming.frame, incoming.left) = (None, 0);
            let block = fragment(frame, payload)?;
            let fields = self.decoder.read(part, block)?;
            witness.block(fields.ending(), block);
            return Ok(Some(fields));
        }
        let fields = self.take_block_slowly(frame, part, input)?;
        if let Some(fields) = &fields {
            witness.block(fields.ending(), &self.incoming.block);
        }
        Ok(fields)
    }

    // Cold: blocks in pieces are rare, and their memory is kept.
    #[inline(never)]
    fn take_block_slowly(
        &mut self,
        frame: FrameHead,
        part: Part,
        input: &mut &[u8],
    ) -> Result<Option<Fields>, ProtocolError> {
        let incoming = &mut self.incoming;
        if frame.kind == kind::HEADERS && incoming.left == frame.length {
            incoming.block.clear();
        }
        let take = (incoming.left as usize).min(input.len());
        let (piece, rest) = input.split_at(take);
        incoming.block.extend_from_slice(piece);
        *input = rest;
        incoming.left -= take as u32;
        if incoming.left > 0 {
            return Ok(None);
        }
        incoming.frame = None;
        if frame.kind == kind::HEADERS {
            let within = fragment(frame, &incoming.block)?;
            let begin = within.as_ptr().addr() - incoming.block.as_ptr().addr();
            let end = begin + within.len();
            incoming.block.truncate(end);
            incoming.block.drain(..begin);
        }
        if !frame.has(flag::END_HEADERS) {
            return Ok(None);
        }
        self.decoder.read(part, &incoming.block).map(Some)
    }

    /// A header block came: a head, an interim one, or trailers.
    #[inline]
    fn head<W: Witness>(
        &mut self,
        place: u32,
        fields: Fields,
        expect: Expect,
        witness: &mut W,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let ends = self.incoming.block_ends;
        let stream = self.streams.at(place);
        // A short block may name a long entry of the table many times.
        if u64::from(fields.bytes) > HEAD_BYTES_MAX {
            return Err(ProtocolError::HeadTooLong);
        }
        if fields.is_malformed {
            return Err(ProtocolError::BadHeader);
        }
        match (stream.status, fields.status) {
            // Trailers, which end the response.
            (200.., 0) if ends => {
                stream.call = fields.call.or(stream.call);
                return self.complete(place, expect);
            }
            (200.., _) => return Err(ProtocolError::BadHeader),
            (_, 101 | ..100) => return Err(ProtocolError::BadStatus),
            (_, 100..200) if ends => return Err(ProtocolError::BadHeader),
            (_, 100..200) => return Ok(None),
            _ => {}
        }
        (stream.status, stream.fields, stream.call) = (fields.status, fields.bytes, fields.call);
        let has_none = expect == Expect::HeadOnly || matches!(fields.status, 204 | 304);
        stream.body = match fields.length {
            _ if has_none => Body::None,
            Some(length) => Body::Announced(length),
            None => Body::Any,
        };
        witness.head(fields.status);
        if ends { self.complete(place, expect) } else { Ok(None) }
    }

    /// The response on a stream is complete. What is left of the request is not sent.
    #[inline]
    fn complete(&mut self, place: u32, expect: Expect) -> Result<Option<Outcome>, ProtocolError> {
        let stream = *self.streams.at(place);
        match stream.body {
            Body::Announced(length) if stream.came != length => {
                return Err(ProtocolError::LongBody);
            }
            Body::Any => self.parts.unannounced += stream.came,
            _ => {}
        }
        if stream.came > u64::from(self.own_window) {
            self.news().long += 1;
        }
        self.parts.body += stream.came;
        self.parts.fields += u64::from(stream.fields);
        self.streams.remove(place);
        if !stream.is_sent {
            self.drop_rest(place);
            self.owe(kind::RST_STREAM, 0, stream.id, &code::CANCEL.to_be_bytes());
        }
        let status = match expect {
            Expect::Call | Expect::Stream | Expect::Conversation => {
                stream.call_status(expect).number()
            }
            Expect::Body | Expect::HeadOnly => stream.status,
        };
        let bytes = stream.bytes;
        Ok(Some(Outcome::Response(Response { status, bytes, reusable: true })))
    }

    /// A reply came that no message asked for: which reply answers which message is not known any
    /// more, so the call is given up and has failed.
    #[cold]
    fn interrupt(&mut self, place: u32, expect: Expect) -> Result<Option<Outcome>, ProtocolError> {
        self.cancel(place);
        let stream = self.streams.at(place);
        (stream.call, stream.body) = (Some(CallStatus::Internal), Body::Any);
        stream.is_sent = true;
        self.complete(place, expect)
    }

    /// Consumes bytes of a frame that belongs to no stream in flight.
    #[inline(never)]
    fn take_control(&mut self, frame: FrameHead, input: &mut &[u8]) -> Result<(), ProtocolError> {
        match frame.kind {
            kind::DATA => {
                self.take_data(input, &mut ())?;
            }
            // The table of the peer goes on, whatever became of the stream.
            kind::HEADERS | kind::CONTINUATION => {
                self.take_block(frame, Part::Head, input, &mut ())?;
            }
            kind::SETTINGS if frame.has(flag::ACK) => {}
            kind::SETTINGS => self.take_settings(input)?,
            kind::PING => self.take_ping(frame, input),
            kind::GOAWAY => self.take_goaway(input),
            kind::RST_STREAM => {
                self.number(input);
            }
            kind::WINDOW_UPDATE => {
                if let Some(more) = self.number(input) {
                    self.widen(frame.stream, more)?;
                }
            }
            _ => self.pass(input),
        }
        if self.incoming.left == 0 {
            self.incoming.frame = None;
        }
        self.check_flood()
    }

    /// Consumes bytes that do not matter.
    fn pass(&mut self, input: &mut &[u8]) {
        let take = (self.incoming.left as usize).min(input.len());
        *input = &input[take..];
        self.incoming.left -= take as u32;
    }

    fn take_settings(&mut self, input: &mut &[u8]) -> Result<(), ProtocolError> {
        while self.incoming.left > 0 {
            let Some(unit) = self.incoming.unit(input, 6) else { return Ok(()) };
            self.incoming.left -= 6;
            let name = u16::from_be_bytes([unit[0], unit[1]]);
            let value = u32::from_be_bytes([unit[2], unit[3], unit[4], unit[5]]);
            match name {
                setting::HEADER_TABLE_SIZE => {
                    let is_used = matches!(self.table, PeerTable::Empty | PeerTable::Primed);
                    if value < TABLE_MAX && is_used {
                        self.table = PeerTable::Smaller;
                    }
                }
                setting::ENABLE_PUSH if value > 0 => return Err(ProtocolError::BadFrame),
                setting::MAX_CONCURRENT_STREAMS => self.limit = value,
                setting::INITIAL_WINDOW_SIZE => {
                    let more = i64::from(value) - self.window_initial;
                    self.window_initial += more;
                    let largest = self.streams.widen(more).max(self.window_initial);
                    if largest > i64::from(WINDOW_MAX) {
                        return Err(self.broken(code::FLOW_CONTROL_ERROR));
                    }
                }
                setting::MAX_FRAME_SIZE if !(PAYLOAD_MAX..1 << 24).contains(&value) => {
                    return Err(ProtocolError::BadFrame);
                }
                _ => {}
            }
        }
        self.end_settings()
    }

    fn end_settings(&mut self) -> Result<(), ProtocolError> {
        self.is_ready = true;
        let (limit, window) = (u64::from(self.limit), self.window_initial as u64);
        self.news().allow(limit, window);
        self.owe(kind::SETTINGS, flag::ACK, 0, &[]);
        self.check_flood()
    }

    fn take_ping(&mut self, frame: FrameHead, input: &mut &[u8]) {
        let Some(unit) = self.incoming.unit(input, 8) else { return };
        self.incoming.left = 0;
        if !frame.has(flag::ACK) {
            self.owe(kind::PING, flag::ACK, 0, &unit[..8]);
        }
    }

    fn take_goaway(&mut self, input: &mut &[u8]) {
        if !self.incoming.is_passed {
            let Some(unit) = self.incoming.unit(input, 8) else { return };
            self.incoming.left -= 8;
            self.incoming.is_passed = true;
            let last = u32::from_be_bytes([unit[0], unit[1], unit[2], unit[3]]) & WINDOW_MAX;
            // A peer may first announce to leave, and then after which stream.
            if !std::mem::replace(&mut self.is_leaving, true) {
                let number = u32::from_be_bytes([unit[4], unit[5], unit[6], unit[7]]);
                let processed = last.min(self.next_id.saturating_sub(2)).div_ceil(2);
                self.news().leave(StreamCode::of(number), u64::from(processed));
            }
            self.refused_above = self.streams.above(last).map(|_| last);
        }
        self.pass(input);
    }

    /// The peer takes more.
    fn widen(&mut self, stream: u32, more: u32) -> Result<(), ProtocolError> {
        let more = i64::from(more & WINDOW_MAX);
        let place = if stream == 0 { None } else { self.streams.find(stream) };
        let window = match place {
            Some(place) => {
                let window = &mut self.streams.at(place).window;
                *window += more;
                *window
            }
            None if stream == 0 => {
                self.window += more;
                self.window
            }
            // The stream is over.
            None => 0,
        };
        let code = match more {
            0 => code::PROTOCOL_ERROR,
            _ if window > i64::from(WINDOW_MAX) => code::FLOW_CONTROL_ERROR,
            _ => return Ok(()),
        };
        if stream != 0 {
            self.owe(kind::RST_STREAM, 0, stream, &code.to_be_bytes());
        }
        Err(self.broken(code))
    }
}

/// Bytes that used up a window after which it is refilled.
fn refill_at(window: u32) -> u32 {
    (window / 2).max(1)
}

/// The part of a header block in a HEADERS frame, without padding and priority.
#[inline]
fn fragment(frame: FrameHead, payload: &[u8]) -> Result<&[u8], ProtocolError> {
    let mut rest = payload;
    if frame.has(flag::PADDED) {
        let (&pad, after) = rest.split_first().ok_or(ProtocolError::BadFrame)?;
        let length = after.len().checked_sub(usize::from(pad)).ok_or(ProtocolError::BadFrame)?;
        rest = &after[..length];
    }
    if frame.has(flag::PRIORITY) {
        rest = rest.get(PRIORITY_BYTES..).ok_or(ProtocolError::BadFrame)?;
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::super::frame;
    use super::*;
    use crate::session::Session;

    /// Windows are refilled by what used them up, that of the connection also for streams that are
    /// gone.
    #[test]
    fn what_used_up_a_window_is_given_back() {
        let (mut session, mut output) = (Http2::for_depth(1), Vec::new());
        session.begin(&mut output);
        (session.is_ready, session.next_id) = (true, 3);
        let place = session.streams.add(1, 0);
        let full = refill_at(WINDOW_MAX);
        session.streams.at(place).status = 200;
        let mut input = Vec::new();
        frame::put(kind::DATA, 0, 1, b"abc", &mut input);
        for (left, streams) in [(4, &[][..]), (3, &[0, 1][..])] {
            (session.used, session.streams.at(place).used) = (full - left, full - left);
            let mut rest = &input[..];
            session.addressee(&mut rest).unwrap();
            session.receive(&mut rest, Expect::Body, &mut (), &mut ()).unwrap();
            let mut given = Vec::new();
            for stream in streams {
                let more = full.to_be_bytes();
                frame::put(kind::WINDOW_UPDATE, 0, *stream, &more, &mut given);
            }
            assert_eq!(session.debts, given, "{left} bytes left");
        }
        session.debts.clear();
        session.cancel(place);
        session.debts.clear();
        session.used = full - 3;
        session.addressee(&mut &input[..]).unwrap();
        assert_eq!(session.debts.len(), HEAD_BYTES + 4, "of the connection alone");
    }
}
