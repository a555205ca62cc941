//! No sockets and no real time: a seeded HTTP/2 server with faults, in virtual time.
//!
//! It answers in any order and in parts, whose frames mix with those of other streams; changes its
//! limits and windows while requests are on their way; leaves connections with GOAWAY, and refuses,
//! resets or forgets streams. It also holds the client to the rules: one that opens more streams
//! than it may, or sends more than a window has room for, is a panic. Tests only.

use super::agenda::Agenda;
use super::{StallPoint, Stalls, Witness};
use crate::driver::{Ahead, Buffer, Driver, End, Event, Sending, SlotId};
use crate::job::Job;
use model::call::CallStatus;
use model::streams::StreamCode;
use model::tick::ErrorClass;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use wire::http2::{Asked, Ends, Form, Peer, Said, say};
use wire::response::Expect;

/// Faults, each in parts per thousand of its occasions, and how slow the server is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamFaults {
    /// A connection attempt is refused.
    pub refused: u64,
    /// A connection is accepted, and the server says nothing.
    pub mute: u64,
    /// A connection is accepted, and the server speaks HTTP/1.1.
    pub other_protocol: u64,
    /// A send is taken in two parts.
    pub partial_send: u64,
    /// The connection ends instead of a response, with a reset or without.
    pub cut: u64,
    /// The server leaves the connection when a request comes.
    pub goaway: u64,
    /// A stream is refused (REFUSED_STREAM).
    pub refuses: u64,
    /// A stream is reset, before or inside the response.
    pub resets: u64,
    /// No response ever comes on a stream.
    pub silent: u64,
    /// The response is an error status.
    pub error_status: u64,
    /// A response comes before all of the request; the end of a conversation before its last
    /// message.
    pub early: u64,
    /// Two replies come to one message of a conversation.
    pub doubled: u64,
    /// The server announces another limit, or another window, when a request comes.
    pub changes: u64,
    /// A part of a request's body does not widen the window.
    pub starved: u64,
    /// Header blocks are in pieces or padded; so are bodies; interim responses and trailers come.
    pub odd_forms: u64,
    /// A PING, or a frame of an unknown type, comes with a response.
    pub chatter: u64,
    /// What the server says arrives in random pieces.
    pub pieces: u64,
    /// What it says arrives byte by byte.
    pub bytewise: u64,
    /// A frame that breaks the rules comes.
    pub garbage: u64,
    /// Streams that the server allows, at least and at most; 0 for no limit.
    pub streams: (u64, u64),
    /// Its windows, bytes, at least and at most.
    pub window: (u64, u64),
    /// Shortest and longest time to each part of a response, nanoseconds.
    pub service_ns: (u64, u64),
    /// Stalls of the generator, if any.
    pub stalls: Option<Stalls>,
}

#[derive(Debug)]
enum Happening {
    Opened,
    OpenFailed(ErrorClass),
    /// The rest of a send is taken.
    SendTaken(Vec<u8>),
    /// The server says the next part of the response on a stream.
    Part(u32),
    /// The server widens the windows of the connection and of a stream.
    Widen(u32, u32),
    /// Bytes, the status of the response and the number of messages of calls that they complete.
    Bytes(Vec<u8>, Option<u16>, u64),
    Ended(End),
}

/// A stream that is open for the server.
#[derive(Debug, Clone, Copy)]
struct Open {
    is_whole: bool,
    is_answered: bool,
    /// Of the response; for calls, the number of theirs.
    status: u16,
    /// DATA frames still to be sent; none before the head.
    parts: Option<u64>,
    /// Bytes of the messages of a call that were sent.
    said: usize,
    /// Messages of a conversation that came, and replies to them.
    turns: (u32, u32),
    window: i64,
}

/// One connection, as the server sees it.
#[derive(Default)]
struct Line {
    peer: Peer,
    outbox: Vec<u8>,
    /// A send is under way.
    is_sending: bool,
    open: BTreeMap<u32, Open>,
    /// Limit and window that the client has acknowledged, then those that it has not.
    announced: VecDeque<(u32, u32)>,
    window: i64,
    /// No stream above this is processed.
    last: Option<u32>,
    /// When the server can say more.
    free_ns: u64,
    /// It says nothing more.
    is_over: bool,
}

/// See the module.
pub struct Streams {
    faults: StreamFaults,
    /// What the simulated server saw.
    pub witness: Witness,
    /// What requests are; calls have their status in trailers.
    expect: Expect,
    agenda: Agenda<Happening>,
    lines: Vec<Line>,
    bytes: Vec<u8>,
}

impl Streams {
    /// A server for `slots` connections of a job; its faults are drawn from the job's seed.
    pub fn new(job: &Job, slots: u32, faults: StreamFaults) -> Self {
        Self {
            faults,
            witness: Witness::default(),
            expect: job.tape.expect(0),
            agenda: Agenda::new(job.seed, slots, faults.stalls),
            lines: (0..slots).map(|_| Line::default()).collect(),
            bytes: Vec::new(),
        }
    }

    fn has_calls(&self) -> bool {
        matches!(self.expect, Expect::Call | Expect::Stream | Expect::Conversation)
    }

    fn line(&mut self, slot: SlotId) -> &mut Line {
        &mut self.lines[slot as usize]
    }

    fn draw_limit(&mut self) -> Option<u32> {
        let (least, most) = self.faults.streams;
        (most > 0).then(|| self.agenda.between(least, most) as u32)
    }

    /// The server's first words.
    fn accept(&mut self, slot: SlotId) {
        self.witness.accepted += 1;
        let (least, most) = self.faults.window;
        let window = self.agenda.between(least, most) as u32;
        let limit = self.draw_limit();
        *self.line(slot) = Line {
            window: 65_535,
            announced: VecDeque::from([(0, 0), (limit.unwrap_or(u32::MAX), window)]),
            ..Line::default()
        };
        let mut words = Vec::new();
        let is_mute = self.agenda.strikes(self.faults.mute);
        let is_other = !is_mute && self.agenda.strikes(self.faults.other_protocol);
        if is_other {
            words = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
        } else if !is_mute {
            say(&Said::Settings { streams: limit, window: Some(window) }, &mut words);
            say(&Said::Acknowledged, &mut words);
        }
        let at_ns = self.agenda.now_ns + self.agenda.between(1_000, 100_000);
        self.deliver(slot, at_ns, &words, (None, &[]));
        self.line(slot).is_over = is_mute || is_other;
    }

    /// The server has received bytes on a connection.
    fn take(&mut self, slot: SlotId, bytes: &[u8]) {
        let mut peer = std::mem::take(&mut self.line(slot).peer);
        let mut all = Vec::new();
        peer.take(bytes, |asked| all.push(asked));
        self.line(slot).peer = peer;
        for asked in all {
            match asked {
                Asked::Head { stream, ends, .. } => self.asked(slot, stream, ends),
                Asked::Body { stream, bytes, messages, ends } => {
                    self.more(slot, stream, (bytes, messages), ends);
                }
                Asked::Reset { stream, .. } => drop(self.line(slot).open.remove(&stream)),
                Asked::Acknowledged => {
                    let announced = &mut self.line(slot).announced;
                    announced.pop_front();
                    assert!(!announced.is_empty(), "it acknowledges what was not said");
                }
                Asked::Goaway { code } => self.witness.farewells.add(StreamCode::of(code), 1),
                Asked::Settings { .. } | Asked::Window { .. } | Asked::Pong => {}
            }
        }
    }

    /// A request came.
    fn asked(&mut self, slot: SlotId, stream: u32, is_whole: bool) {
        self.witness.requests += 1;
        let line = self.line(slot);
        if line.is_over {
            return;
        }
        // Until it has acknowledged a limit, the one before it may hold.
        let most = line.announced.iter().map(|(limit, _)| *limit).max().unwrap_or(0);
        let window = line.announced.iter().map(|(_, window)| i64::from(*window)).max().unwrap_or(0);
        if line.last.is_some_and(|last| stream > last) {
            return;
        }
        let (is_answered, status, parts) = (false, 200, None);
        let (said, turns) = (0, (0, 0));
        let open = Open { is_whole, is_answered, status, parts, said, turns, window };
        line.open.insert(stream, open);
        assert!(line.open.len() <= most as usize, "{} streams of {most}", line.open.len());
        let (faults, now_ns) = (self.faults, self.agenda.now_ns);
        if self.agenda.strikes(faults.changes) {
            self.change(slot);
        }
        if self.agenda.strikes(faults.goaway) {
            // What was asked for before may be dropped as well.
            let dropped = self.agenda.between(0, 3) as u32;
            let last = stream.saturating_sub(2 * dropped);
            let line = self.line(slot);
            line.last = Some(last);
            line.open.retain(|stream, _| *stream <= last);
            self.say(slot, now_ns, &Said::Goaway { last, code: 0 }, None);
        }
        if !self.line(slot).open.contains_key(&stream) {
        } else if self.agenda.strikes(faults.refuses) {
            self.line(slot).open.remove(&stream);
            self.say(slot, now_ns, &Said::Reset { stream, code: 7 }, None);
        } else if is_whole || self.agenda.strikes(faults.early) {
            self.answer(slot, stream);
        }
    }

    /// A part of a body came.
    fn more(&mut self, slot: SlotId, stream: u32, (bytes, messages): (u32, u32), ends: bool) {
        let bytes_of = i64::from(bytes);
        let now_ns = self.agenda.now_ns;
        let (faults, line) = (self.faults, &mut self.lines[slot as usize]);
        line.window -= bytes_of;
        assert!(line.window >= 0, "the window of the connection: {}", line.window);
        let mut is_asked = false;
        if let Some(open) = line.open.get_mut(&stream) {
            open.window -= bytes_of;
            assert!(open.window >= 0, "the window of a stream: {}", open.window);
            open.is_whole |= ends;
            open.turns.0 += messages;
            is_asked = match self.expect {
                Expect::Conversation => messages > 0,
                _ => ends && !open.is_answered,
            };
        }
        if self.expect == Expect::Conversation {
            self.witness.asked += u64::from(messages);
        }
        let later_ns = now_ns + self.agenda.between(1_000, 200_000);
        let widened = if self.agenda.strikes(faults.starved) { 0 } else { stream };
        self.agenda.arrange(later_ns, slot, Happening::Widen(widened, bytes));
        if is_asked {
            self.answer(slot, stream);
        }
    }

    /// Announces another limit and another window.
    fn change(&mut self, slot: SlotId) {
        let (least, most) = self.faults.window;
        let window = self.agenda.between(least, most) as u32;
        let streams = self.draw_limit();
        let line = self.line(slot);
        let before = line.announced.back().map_or(0, |(_, window)| *window);
        // What the client sent before it heard of a smaller window is right.
        let more = i64::from(window.saturating_sub(before));
        line.open.values_mut().for_each(|open| open.window += more);
        line.announced.push_back((streams.unwrap_or(u32::MAX), window));
        let now_ns = self.agenda.now_ns;
        self.say(slot, now_ns, &Said::Settings { streams, window: Some(window) }, None);
    }

    /// Arranges for a response.
    fn answer(&mut self, slot: SlotId, stream: u32) {
        let faults = self.faults;
        let status = match self.agenda.strikes(faults.error_status) {
            true if self.has_calls() => {
                let last = CallStatus::ALL.len() as u64 - 1;
                CallStatus::of_code(self.agenda.between(1, last)).number()
            }
            true => 503,
            false => 200,
        };
        let is_silent = self.agenda.strikes(faults.silent);
        let later_ns = self.later_ns();
        if let Some(open) = self.line(slot).open.get_mut(&stream) {
            (open.is_answered, open.status) = (true, status);
        }
        if !is_silent {
            self.agenda.arrange(later_ns, slot, Happening::Part(stream));
        }
    }

    fn later_ns(&mut self) -> u64 {
        let (least, most) = self.faults.service_ns;
        self.agenda.now_ns + self.agenda.between(least, most)
    }

    /// Says the next part of a response.
    fn part(&mut self, slot: SlotId, stream: u32) {
        let (faults, now_ns) = (self.faults, self.agenda.now_ns);
        let Some(open) = self.line(slot).open.get(&stream).copied() else { return };
        if self.agenda.strikes(faults.cut) {
            let end = if self.agenda.strikes(500) { End::Reset } else { End::Closed };
            return self.end(slot, now_ns, end);
        }
        if self.agenda.strikes(faults.garbage) {
            let words = b"\x00\x00\x01\x05\x00\x00\x00\x00\x01?".to_vec();
            self.deliver(slot, now_ns, &words, (None, &[]));
            self.line(slot).is_over = true;
            return;
        }
        if self.agenda.strikes(faults.resets) {
            self.line(slot).open.remove(&stream);
            return self.say(slot, now_ns, &Said::Reset { stream, code: 2 }, None);
        }
        if self.agenda.strikes(faults.chatter) {
            self.say(slot, now_ns, &Said::Ping, None);
            self.say(slot, now_ns, &Said::Unknown { stream }, None);
        }
        if self.expect == Expect::Conversation {
            return self.turn(slot, stream, open);
        }
        let parts = match open.parts {
            None if self.has_calls() => self.call_head(slot, stream, open),
            None => {
                let parts = self.agenda.between(0, 3);
                self.head(slot, stream, open, parts);
                parts
            }
            Some(parts) if self.has_calls() => {
                self.call_body(slot, stream, open, parts - 1);
                parts - 1
            }
            Some(parts) => {
                let parts = parts - 1;
                self.body(slot, stream, open, parts);
                parts
            }
        };
        if parts == 0 {
            return self.close_stream(slot, stream, open);
        }
        if let Some(open) = self.line(slot).open.get_mut(&stream) {
            open.parts = Some(parts);
        }
        let later_ns = self.later_ns();
        self.agenda.arrange(later_ns, slot, Happening::Part(stream));
    }

    /// Says the reply to a message of a conversation, or two; or how the conversation ended.
    fn turn(&mut self, slot: SlotId, stream: u32, open: Open) {
        let (faults, now_ns) = (self.faults, self.agenda.now_ns);
        let (form, fields) = (Form::Whole, &[("content-type", "application/grpc")]);
        if open.parts.is_none() {
            let head = Said::Head { stream, status: Some(200), fields, ends: Ends::No, form };
            self.say(slot, now_ns, &head, None);
        }
        let (asked, replied) = open.turns;
        let is_due = open.status == 200 && replied < asked;
        let replies = if is_due { 1 + u32::from(self.agenda.strikes(faults.doubled)) } else { 0 };
        let (all, ends) =
            messages((replied..replied + replies).map(|nth| (stream + 29 * nth) % 70));
        let (body, padding) = (&all[..], None);
        let mut words = Vec::new();
        say(&Said::Body { stream, body, ends: Ends::No, padding }, &mut words);
        let before = words.len() - body.len();
        let ends: Vec<usize> = ends.into_iter().map(|end| before + end).collect();
        self.deliver(slot, now_ns, &words, (None, &ends));
        let turns = (asked, replied + replies);
        if let Some(open) = self.line(slot).open.get_mut(&stream) {
            (open.parts, open.turns) = (Some(0), turns);
        }
        if is_due && !open.is_whole && !self.agenda.strikes(faults.early) {
            return;
        }
        let call = CallStatus::of_number(open.status).unwrap_or(CallStatus::Ok);
        let code = (call as u16).to_string();
        let fields = &[("grpc-status", &*code)];
        let trailers = Said::Head { stream, status: None, fields, ends: Ends::Yes, form };
        // A good one has one reply to each message.
        let is_right = call != CallStatus::Ok || open.is_whole && turns.0 == turns.1;
        let judged = if is_right { open.status } else { CallStatus::Internal.number() };
        self.say(slot, now_ns, &trailers, Some(judged));
        self.close_stream(slot, stream, open);
    }

    /// The response on a stream is complete.
    fn close_stream(&mut self, slot: SlotId, stream: u32, open: Open) {
        let now_ns = self.agenda.now_ns;
        self.line(slot).open.remove(&stream);
        if !open.is_whole {
            self.say(slot, now_ns, &Said::Reset { stream, code: 0 }, None);
        }
        let line = self.line(slot);
        if line.last.is_some() && line.open.is_empty() && self.agenda.strikes(500) {
            let free_ns = self.line(slot).free_ns;
            self.end(slot, now_ns.max(free_ns) + 1_000, End::Closed);
        }
    }

    fn head(&mut self, slot: SlotId, stream: u32, open: Open, parts: u64) {
        let (faults, now_ns) = (self.faults, self.agenda.now_ns);
        let form = match self.agenda.strikes(faults.odd_forms) {
            false => Form::Whole,
            true if self.agenda.strikes(500) => Form::Pieces(self.agenda.between(1, 9) as usize),
            true => Form::Padded(self.agenda.between(0, 9) as u8),
        };
        if self.agenda.strikes(faults.odd_forms) {
            let (status, fields) = (Some(103), &[("link", "</a>")][..]);
            let interim = Said::Head { stream, status, fields, ends: Ends::No, form };
            self.say(slot, now_ns, &interim, None);
        }
        let status = Some(open.status);
        let fields = &[("server", "simulated"), ("x-any", "of no interest at all")];
        let ends = if parts == 0 { Ends::Yes } else { Ends::No };
        let head = Said::Head { stream, status, fields, ends, form };
        self.say(slot, now_ns, &head, (parts == 0).then_some(open.status));
    }

    fn body(&mut self, slot: SlotId, stream: u32, open: Open, parts: u64) {
        let (faults, now_ns) = (self.faults, self.agenda.now_ns);
        let body = vec![b'x'; self.agenda.between(0, 150) as usize];
        let padding = self.agenda.strikes(faults.odd_forms).then_some(5);
        let has_trailers = parts == 0 && self.agenda.strikes(faults.odd_forms);
        let ends = if parts == 0 && !has_trailers { Ends::Yes } else { Ends::No };
        let completes = (parts == 0 && !has_trailers).then_some(open.status);
        self.say(slot, now_ns, &Said::Body { stream, body: &body, ends, padding }, completes);
        if has_trailers {
            let (fields, form) = (&[("x-sum", "1")][..], Form::Whole);
            let trailers = Said::Head { stream, status: None, fields, ends: Ends::Yes, form };
            self.say(slot, now_ns, &trailers, Some(open.status));
        }
    }

    /// Says the head of the response to a call; returns how many parts its message has. A call that
    /// fails may have no message, and a status that another layer sent, or none.
    fn call_head(&mut self, slot: SlotId, stream: u32, open: Open) -> u64 {
        let now_ns = self.agenda.now_ns;
        let call = CallStatus::of_number(open.status).unwrap_or(CallStatus::Ok);
        let code = (call as u16).to_string();
        let all = [("content-type", "application/grpc"), ("grpc-status", &code)];
        let is_short = call != CallStatus::Ok && self.agenda.strikes(500);
        let (status, fields) = match call {
            CallStatus::Unavailable if is_short => (503, &all[..0]),
            CallStatus::Unknown if is_short => (200, &all[..1]),
            _ if is_short => (200, &all[..]),
            _ => (200, &all[..1]),
        };
        let (status, form) = (Some(status), Form::Whole);
        let ends = if is_short { Ends::Yes } else { Ends::No };
        let head = Said::Head { stream, status, fields, ends, form };
        self.say(slot, now_ns, &head, is_short.then_some(open.status));
        if is_short { 0 } else { self.agenda.between(1, 3) }
    }

    /// Says a part of the messages of a call, and after the last its status.
    fn call_body(&mut self, slot: SlotId, stream: u32, open: Open, parts: u64) {
        let now_ns = self.agenda.now_ns;
        let (messages, ends) = match self.expect {
            Expect::Stream => messages((0..stream / 2 % 7).map(|nth| (stream + 29 * nth) % 70 / 4)),
            _ => messages([40].into_iter()),
        };
        let rest = messages.len() - open.said;
        let length = if parts == 0 { rest } else { self.agenda.between(0, rest as u64) as usize };
        let said = open.said + length;
        let body = &messages[open.said..said];
        if let Some(open) = self.line(slot).open.get_mut(&stream) {
            open.said = said;
        }
        let padding = self.agenda.strikes(self.faults.odd_forms).then_some(5);
        let mut words = Vec::new();
        say(&Said::Body { stream, body, ends: Ends::No, padding }, &mut words);
        let before = words.len() - body.len() - padding.map_or(0, usize::from);
        let ends = ends.into_iter().filter(|end| (open.said + 1..=said).contains(end));
        let ends: Vec<usize> = ends.map(|end| before + end - open.said).collect();
        self.deliver(slot, now_ns, &words, (None, &ends));
        if parts == 0 {
            let call = CallStatus::of_number(open.status).unwrap_or(CallStatus::Ok);
            let code = (call as u16).to_string();
            let (fields, form) = (&[("grpc-status", &*code)][..], Form::Whole);
            let trailers = Said::Head { stream, status: None, fields, ends: Ends::Yes, form };
            self.say(slot, now_ns, &trailers, Some(open.status));
        }
    }

    fn say(&mut self, slot: SlotId, at_ns: u64, said: &Said<'_>, completes: Option<u16>) {
        let mut words = Vec::new();
        say(said, &mut words);
        self.deliver(slot, at_ns, &words, (completes, &[]));
    }

    /// Sends bytes that may complete a response, and messages that end in them, in one or more
    /// pieces, behind all before them.
    fn deliver(
        &mut self,
        slot: SlotId,
        at_ns: u64,
        bytes: &[u8],
        (completes, ends): (Option<u16>, &[usize]),
    ) {
        if self.line(slot).is_over {
            return;
        }
        let piece_max = if self.agenda.strikes(self.faults.bytewise) {
            1
        } else if self.agenda.strikes(self.faults.pieces) {
            self.agenda.between(1, 40)
        } else {
            bytes.len() as u64
        };
        let mut at_ns = at_ns.max(self.line(slot).free_ns);
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = self.agenda.between(1, piece_max).max(piece_max / 2);
            let (piece, after) = rest.split_at(length.min(rest.len() as u64) as usize);
            rest = after;
            let completes = completes.filter(|_| rest.is_empty());
            let end = bytes.len() - rest.len();
            let within = end - piece.len() + 1..=end;
            let messages = ends.iter().filter(|end| within.contains(end)).count() as u64;
            let happening = Happening::Bytes(piece.to_vec(), completes, messages);
            self.agenda.arrange(at_ns, slot, happening);
            at_ns += 100;
        }
        self.line(slot).free_ns = at_ns;
    }

    fn end(&mut self, slot: SlotId, at_ns: u64, end: End) {
        let line = self.line(slot);
        if !std::mem::replace(&mut line.is_over, true) {
            let at_ns = at_ns.max(line.free_ns);
            self.agenda.arrange(at_ns, slot, Happening::Ended(end));
        }
    }

    fn widen(&mut self, slot: SlotId, stream: u32, more: u32) {
        let now_ns = self.agenda.now_ns;
        let line = self.line(slot);
        line.window += i64::from(more);
        let is_open = match line.open.get_mut(&stream) {
            Some(open) => {
                open.window += i64::from(more);
                true
            }
            None => false,
        };
        if more > 0 {
            self.say(slot, now_ns, &Said::Window { stream: 0, more }, None);
            if is_open {
                self.say(slot, now_ns, &Said::Window { stream, more }, None);
            }
        }
    }
}

impl Driver for Streams {
    fn now_ns(&self) -> u64 {
        self.agenda.now_ns
    }

    fn cpu_ns(&self) -> (u64, u64) {
        (0, 0)
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        let at_ns = self.agenda.now_ns + self.agenda.between(20_000, 200_000);
        let happening = match self.agenda.strikes(self.faults.refused) {
            true => Happening::OpenFailed(ErrorClass::Connect),
            false => Happening::Opened,
        };
        self.agenda.arrange(at_ns, slot, happening);
    }

    fn send(&mut self, _slot: SlotId, _span: Range<usize>, _ahead: Ahead) -> Sending {
        panic!("a session of HTTP/2 writes what is sent");
    }

    fn outbox(&mut self, slot: SlotId) -> &mut Vec<u8> {
        let line = self.line(slot);
        assert!(!line.is_sending, "the kernel reads the outbox of slot {slot}");
        &mut line.outbox
    }

    fn send_outbox(&mut self, slot: SlotId, _ahead: Ahead) -> Sending {
        self.agenda.hold_up(StallPoint::Turn);
        let mut bytes = std::mem::take(&mut self.line(slot).outbox);
        if self.agenda.strikes(self.faults.partial_send) {
            let later_ns = self.agenda.now_ns + self.agenda.between(1_000, 2_000_000);
            let rest = bytes.split_off(self.agenda.between(0, bytes.len() as u64) as usize);
            self.take(slot, &bytes);
            self.line(slot).is_sending = true;
            self.agenda.arrange(later_ns, slot, Happening::SendTaken(rest));
            return Sending::Underway;
        }
        self.take(slot, &bytes);
        Sending::Done
    }

    fn farewell(&mut self, slot: SlotId) {
        let bytes = std::mem::take(&mut self.line(slot).outbox);
        self.take(slot, &bytes);
    }

    fn close(&mut self, slot: SlotId) {
        self.agenda.close(slot);
        let line = self.line(slot);
        line.outbox.clear();
        line.is_sending = false;
    }

    fn wait(&mut self, _now_ns: u64, until_ns: u64) -> u64 {
        self.agenda.wait(until_ns);
        self.witness.stalls = self.agenda.stalled;
        self.agenda.now_ns
    }

    fn next(&mut self) -> Option<Event> {
        while let Some((slot, happening)) = self.agenda.next() {
            let at_ns = self.agenda.now_ns;
            match happening {
                Happening::Opened => {
                    self.accept(slot);
                    return Some(Event::Opened { slot, at_ns });
                }
                Happening::OpenFailed(class) => {
                    return Some(Event::OpenFailed { slot, class, at_ns });
                }
                Happening::SendTaken(rest) => {
                    self.take(slot, &rest);
                    self.line(slot).is_sending = false;
                    return Some(Event::Sent { slot, at_ns });
                }
                Happening::Part(stream) => self.part(slot, stream),
                Happening::Widen(stream, more) => self.widen(slot, stream, more),
                Happening::Bytes(bytes, completes, messages) => {
                    self.witness.messages += messages;
                    if let Some(status) = completes {
                        self.witness.good_responses += u64::from(status == 200);
                        self.witness.statuses.add(status, 1);
                    }
                    self.bytes = bytes;
                    let buffer = Buffer { id: 0, length: self.bytes.len() as u32 };
                    return Some(Event::Received { slot, at_ns, buffer });
                }
                Happening::Ended(end) => return Some(Event::Ended { slot, end, at_ns }),
            }
        }
        None
    }

    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.bytes[..buffer.length as usize]
    }

    fn release(&mut self, _buffer: Buffer) {}
}

/// Messages of these lengths with their prefixes, and where each ends.
fn messages(lengths: impl Iterator<Item = u32>) -> (Vec<u8>, Vec<usize>) {
    let (mut all, mut ends) = (Vec::new(), Vec::new());
    for length in lengths {
        all.extend([0, 0, 0, 0, length as u8]);
        all.extend(vec![b'x'; length as usize]);
        ends.push(all.len());
    }
    (all, ends)
}
