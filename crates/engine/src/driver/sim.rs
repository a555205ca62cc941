//! No sockets and no real time: a seeded server with faults, in virtual time.
//!
//! The worker cannot tell it from a real driver, so whole runs with resets, one-byte reads and
//! dying servers are repeated exactly from a seed, thousands per second. Tests only.

mod agenda;
pub mod shop;
pub mod streams;

pub use self::agenda::BEGIN_NS;

use self::agenda::Agenda;
use super::{Ahead, Buffer, Driver, End, Event, Sending, SlotId};
use crate::job::Job;
use model::streams::StreamCodes;
use model::tick::{ErrorClass, StatusCodes};
use std::ops::Range;
use std::sync::Arc;
use wire::http1::Http1;
use wire::session::{Ending, Reply};
use wire::tape::Tape;

/// How long after a response an empty line comes, nanoseconds.
const EMPTY_LINE_NS: u64 = 1_000;

/// Faults, each in parts per thousand of its occasions, and how slow the server is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// A connection attempt is refused.
    pub refused: u64,
    /// A connection attempt finds no port.
    pub no_port: u64,
    /// A connection attempt gets no reply at all.
    pub unheard: u64,
    /// A send is taken in two parts.
    pub partial_send: u64,
    /// The connection is reset instead of a response.
    pub reset: u64,
    /// The connection is closed in the middle of a response.
    pub cut: u64,
    /// No response ever comes.
    pub silent: u64,
    /// The response is not HTTP.
    pub garbage: u64,
    /// The response is an error status.
    pub error_status: u64,
    /// The response is chunked.
    pub chunked: u64,
    /// The response ends with the connection.
    pub until_close: u64,
    /// The response announces the end of the connection.
    pub last_response: u64,
    /// A response arrives in random pieces.
    pub pieces: u64,
    /// A response arrives byte by byte.
    pub bytewise: u64,
    /// A second response comes that no request asked for.
    pub unsolicited: u64,
    /// An empty line comes after the response, by itself.
    pub empty_line: u64,
    /// Shortest and longest service time, nanoseconds.
    pub service_ns: (u64, u64),
    /// Stalls of the generator, if any.
    pub stalls: Option<Stalls>,
}

/// The generator's thread is held up repeatedly, as by a quota or by another thread on its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// From the end of one to the earliest start of the next, nanoseconds.
    pub every_ns: u64,
    /// How long each takes, nanoseconds.
    pub length_ns: u64,
    /// What it delays.
    pub during: StallPoint,
}

/// What a stall delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallPoint {
    /// The worker's own turn: the next send takes that long.
    Turn,
    /// A wait, which ends that much too late.
    Wait,
}

/// What the simulated server saw, to check the worker's account against.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Witness {
    /// Connections accepted.
    pub accepted: u64,
    /// Requests whose last byte arrived.
    pub requests: u64,
    /// Good responses delivered to the last byte on a connection the client had not given up.
    pub good_responses: u64,
    /// Responses by status, delivered in the same way; where the server is one of HTTP/2.
    pub statuses: StatusCodes,
    /// Connections that the client said to give up, where the server is one of HTTP/2.
    pub farewells: StreamCodes,
    /// Messages of calls, delivered to the last byte in the same way.
    pub messages: u64,
    /// Messages of conversations that came whole.
    pub asked: u64,
    /// Good responses that no request asked for.
    pub unsolicited: u64,
    /// How often the generator was stalled.
    pub stalls: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Happening {
    Opened,
    OpenFailed(ErrorClass),
    SendTaken(u64),
    /// Bytes, and how many good responses they complete.
    Bytes(Vec<u8>, u64),
    /// The end, and how many good responses it completes.
    Ended(End, u64),
}

/// A response as the server writes it.
struct Response {
    bytes: Vec<u8>,
    /// 1 when its status is good, else 0.
    good: u64,
    closes: bool,
    until_close: bool,
}

struct Connection {
    /// When the server is free for the next request of this connection.
    free_ns: u64,
    /// Nothing more is sent.
    is_over: bool,
}

/// See the module.
pub struct Sim {
    faults: Faults,
    /// What the simulated server saw.
    pub witness: Witness,
    agenda: Agenda<Happening>,
    tape: Arc<Tape>,
    connections: Vec<Connection>,
    bytes: Vec<u8>,
}

impl Sim {
    /// A server for `slots` connections of a job; its faults are drawn from the job's seed.
    pub fn new(job: &Job, slots: u32, faults: Faults) -> Self {
        let fresh = |_| Connection { free_ns: 0, is_over: false };
        Self {
            faults,
            witness: Witness::default(),
            agenda: Agenda::new(job.seed, slots, faults.stalls),
            tape: Arc::clone(&job.tape),
            connections: (0..slots).map(fresh).collect(),
            bytes: Vec::new(),
        }
    }

    /// The server has received `count` requests on a connection.
    fn serve(&mut self, slot: SlotId, count: u64) {
        for _ in 0..count {
            self.witness.requests += 1;
            if self.connections[slot as usize].is_over {
                continue;
            }
            let (least, most) = self.faults.service_ns;
            let service_ns = self.agenda.between(least, most);
            let free_ns =
                self.connections[slot as usize].free_ns.max(self.agenda.now_ns) + service_ns;
            self.connections[slot as usize].free_ns = free_ns;
            self.respond(slot, free_ns);
        }
    }

    fn respond(&mut self, slot: SlotId, at_ns: u64) {
        let faults = self.faults;
        if self.agenda.strikes(faults.silent) {
            self.connections[slot as usize].is_over = true;
        } else if self.agenda.strikes(faults.reset) {
            self.end(slot, at_ns, End::Reset, 0);
        } else if self.agenda.strikes(faults.garbage) {
            self.deliver(slot, at_ns, b"\x16\x03\x01 not HTTP at all\r\n\r\n", 0);
            self.connections[slot as usize].is_over = true;
        } else {
            self.real_response(slot, at_ns);
        }
    }

    fn real_response(&mut self, slot: SlotId, at_ns: u64) {
        let faults = self.faults;
        let Response { bytes, good, closes, until_close } = self.write_response();
        if self.agenda.strikes(faults.cut) {
            let kept = self.agenda.between(1, bytes.len() as u64 - 1) as usize;
            let last_ns = self.deliver(slot, at_ns, &bytes[..kept], 0);
            // A response that ends with the connection cannot be recognised as cut in its body.
            let head = bytes.windows(4).position(|four| four == b"\r\n\r\n");
            let looks_whole = until_close && head.is_some_and(|at| kept >= at + 4);
            self.end(slot, last_ns, End::Closed, if looks_whole { good } else { 0 });
        } else if until_close {
            let last_ns = self.deliver(slot, at_ns, &bytes, 0);
            self.end(slot, last_ns, End::Closed, good);
        } else {
            let last_ns = self.deliver(slot, at_ns, &bytes, good);
            if closes {
                self.end(slot, last_ns, End::Closed, 0);
            } else if faults.empty_line > 0 && self.agenda.strikes(faults.empty_line) {
                self.deliver(slot, last_ns + EMPTY_LINE_NS, b"\r\n", 0);
            } else if self.agenda.strikes(faults.unsolicited) {
                let extra = self.write_response();
                let counts = if extra.until_close { 0 } else { extra.good };
                self.witness.unsolicited += counts;
                self.deliver(slot, last_ns, &extra.bytes, counts);
                self.connections[slot as usize].is_over = true;
            }
        }
    }

    fn write_response(&mut self) -> Response {
        let faults = self.faults;
        let is_good = !self.agenda.strikes(faults.error_status);
        let (status, reason, good) = if is_good { (200, "OK", 1) } else { (503, "Busy", 0) };
        let body = "x".repeat(self.agenda.between(0, 300) as usize);
        let closes = self.agenda.strikes(faults.last_response);
        let fields = &[("Date", "now"), ("Connection", "close")][..1 + usize::from(closes)];
        let until_close = self.agenda.strikes(faults.until_close);
        let ending = if until_close {
            Ending::Connection
        } else if self.agenda.strikes(faults.chunked) && !body.is_empty() {
            Ending::Chunk
        } else {
            Ending::Length
        };
        let mut bytes = Vec::new();
        let reply = Reply { status, reason, fields, ending, body: body.as_bytes() };
        Http1::respond(&reply, &mut bytes);
        Response { bytes, good, closes, until_close }
    }

    /// Sends bytes that complete `good` responses to the client, in one or more pieces; returns
    /// when the last arrives.
    fn deliver(&mut self, slot: SlotId, at_ns: u64, bytes: &[u8], good: u64) -> u64 {
        let faults = self.faults;
        let piece_max = if self.agenda.strikes(faults.bytewise) {
            1
        } else if self.agenda.strikes(faults.pieces) {
            self.agenda.between(1, 40)
        } else {
            bytes.len() as u64
        };
        let mut at_ns = at_ns;
        let mut rest = bytes;
        while !rest.is_empty() {
            let length =
                self.agenda.between(1, piece_max).max(piece_max / 2).min(rest.len() as u64);
            let piece = rest[..length as usize].to_vec();
            rest = &rest[length as usize..];
            let completes = if rest.is_empty() { good } else { 0 };
            self.agenda.arrange(at_ns, slot, Happening::Bytes(piece, completes));
            at_ns += 1_000;
        }
        let connection = &mut self.connections[slot as usize];
        connection.free_ns = connection.free_ns.max(at_ns);
        at_ns - 1_000
    }

    fn end(&mut self, slot: SlotId, at_ns: u64, end: End, completes: u64) {
        self.connections[slot as usize].is_over = true;
        self.agenda.arrange(at_ns, slot, Happening::Ended(end, completes));
    }
}

impl Driver for Sim {
    fn now_ns(&self) -> u64 {
        self.agenda.now_ns
    }

    fn cpu_ns(&self) -> (u64, u64) {
        (0, 0)
    }

    fn open(&mut self, slot: SlotId, _route: u32) {
        let faults = self.faults;
        let at_ns = self.agenda.now_ns + self.agenda.between(20_000, 200_000);
        let connection = &mut self.connections[slot as usize];
        (connection.is_over, connection.free_ns) = (false, 0);
        if self.agenda.strikes(faults.unheard) {
            return;
        }
        let happening = if self.agenda.strikes(faults.refused) {
            Happening::OpenFailed(ErrorClass::Connect)
        } else if self.agenda.strikes(faults.no_port) {
            Happening::OpenFailed(ErrorClass::Ports)
        } else {
            Happening::Opened
        };
        self.agenda.arrange(at_ns, slot, happening);
    }

    fn send(&mut self, slot: SlotId, span: Range<usize>, _ahead: Ahead) -> Sending {
        self.agenda.hold_up(StallPoint::Turn);
        let faults = self.faults;
        let count = u64::from(self.tape.count(&span));
        if self.agenda.strikes(faults.partial_send) {
            let at_ns = self.agenda.now_ns + self.agenda.between(1_000, 2_000_000);
            self.agenda.arrange(at_ns, slot, Happening::SendTaken(count));
            return Sending::Underway;
        }
        self.serve(slot, count);
        Sending::Done
    }

    fn close(&mut self, slot: SlotId) {
        self.agenda.close(slot);
    }

    fn wait(&mut self, _now_ns: u64, until_ns: u64) -> u64 {
        self.agenda.wait(until_ns);
        self.witness.stalls = self.agenda.stalled;
        self.agenda.now_ns
    }

    fn next(&mut self) -> Option<Event> {
        let (slot, happening) = self.agenda.next()?;
        let at_ns = self.agenda.now_ns;
        Some(match happening {
            Happening::Opened => {
                self.witness.accepted += 1;
                Event::Opened { slot, at_ns }
            }
            Happening::OpenFailed(class) => Event::OpenFailed { slot, class, at_ns },
            Happening::SendTaken(count) => {
                self.serve(slot, count);
                Event::Sent { slot, at_ns }
            }
            Happening::Bytes(bytes, good) => {
                self.witness.good_responses += good;
                self.bytes = bytes;
                let buffer = Buffer { id: 0, length: self.bytes.len() as u32 };
                Event::Received { slot, at_ns, buffer }
            }
            Happening::Ended(end, good) => {
                self.witness.good_responses += good;
                Event::Ended { slot, end, at_ns }
            }
        })
    }

    fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.bytes[..buffer.length as usize]
    }

    fn release(&mut self, _buffer: Buffer) {}
}
