//! The interface between connections and protocols.
//!
//! For: workers, which handle connections and requests but not the protocol on them. A protocol is
//! one type that implements [`Session`]. A worker is compiled for it, so the interface costs
//! nothing per response, and what a protocol does not need is not there.
//! In: bytes as they arrive, and what the engine knows of the request that they answer.
//! Out: outcomes, each with its request; bodies, and what the server sends without a request, go
//! to a [`Witness`]. A session that [`WRITES`](Session::WRITES) also turns requests of the tape
//! into what is sent, and appends what the protocol itself owes the peer.
//! Never: a socket, a clock, or the choice of what is sent when.
//!
//! A worker gives every read to the session of its connection until all of it is consumed:
//! [`Session::addressee`] returns which request the next bytes answer, the worker looks that up,
//! and [`Session::receive`] consumes the bytes of its response.

use crate::response::{Expect, Outcome, Progress, ProtocolError, Response};
use crate::tape::Tape;
use model::streams::StreamTally;
use model::tick::Parts;
use std::ops::Range;

/// Which request of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestId {
    /// The oldest one without a response: the only one in a protocol that answers in order.
    Oldest,
    /// The one at this place, which [`Session::write`] returned. No other request is there until
    /// its outcome is known.
    At(u32),
}

/// One side of one connection: turns the bytes that it is given into outcomes.
pub trait Session: Sized {
    /// Name of the protocol in ALPN (RFC 7301).
    const ALPN: &'static [u8];
    /// How responses follow each other.
    const ORDER: ResponseOrder;
    /// Whether requests are sent as the session writes them; if not, as they lie on the tape.
    const WRITES: bool = false;
    /// Whether requests are steps of a flow, made when they are sent; then it [`WRITES`] too, and
    /// there is one at a time.
    ///
    /// [`WRITES`]: Session::WRITES
    const FILLS: bool = false;

    /// What the responses to one target have in common, learned as they arrive.
    type Memory: Default;

    /// Takes memory for connections with up to `depth` requests in flight, one after another.
    fn for_depth(depth: u32) -> Self;

    /// Lets the peer send so many bytes of bodies ahead, where the protocol has such a limit.
    fn with_window(self, _bytes: Option<u32>) -> Self {
        self
    }

    /// How many places requests have, for up to `depth` of them in flight.
    fn places(depth: u32) -> u32 {
        depth
    }

    /// Starts a fresh connection; appends what a client sends first.
    fn begin(&mut self, output: &mut Vec<u8>);

    /// Whether the peer has said what must be known before the first request.
    #[inline]
    fn is_ready(&self) -> bool {
        true
    }

    /// Requests that the peer allows in flight at once.
    #[inline]
    fn capacity(&self) -> u32 {
        u32::MAX
    }

    /// Whether the connection takes no new requests, for good; those in flight are still answered.
    #[inline]
    fn is_leaving(&self) -> bool {
        false
    }

    /// Where `count` requests from `position` lie on the tape, as they are next on the connection.
    #[inline]
    fn span(&self, tape: &Tape, position: u32, count: u32) -> Range<usize> {
        tape.span(position, count)
    }

    /// Appends the request that lies at `span` of the tape, as far as the peer takes it now, and
    /// returns its place. Only where the session [`WRITES`](Session::WRITES).
    fn write(&mut self, _tape: &[u8], _span: Range<usize>, _output: &mut Vec<u8>) -> u32 {
        unreachable!("requests are sent as they lie on the tape")
    }

    /// Whether something is due to the peer, or may be.
    #[inline]
    fn is_owing(&self) -> bool {
        false
    }

    /// Appends what is due to the peer: what the protocol asks for, and rests of requests that it
    /// takes now.
    #[inline]
    fn owes(&mut self, _tape: &[u8], _output: &mut Vec<u8>) {}

    /// Gives up a request; what must be sent for it is owed. Its place is free afterwards.
    fn cancel(&mut self, _place: u32) {}

    /// Appends our last words on a connection that we close: what is due, and why we close it. It
    /// may be asked for after an error, and nothing else after it.
    fn farewell(&mut self, _output: &mut Vec<u8>) {}

    /// Requests of which a part waits for a window of the peer.
    #[inline]
    fn held(&self) -> u32 {
        0
    }

    /// Adds what the peer said of streams and of leaving since it was last asked.
    #[inline]
    fn tell(&mut self, _tally: &mut StreamTally) {}

    /// Bytes of requests that the peer has not allowed yet.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Bytes of requests that ended before the peer allowed them, since it was last asked.
    #[inline]
    fn take_dropped(&mut self) -> u64 {
        0
    }

    /// Bytes read that belong to no request in flight, since it was last asked.
    #[inline]
    fn take_stray(&mut self) -> u64 {
        0
    }

    /// The request that the bytes at the front of `input` answer. Bytes that belong to no request,
    /// such as frames of the protocol itself, are consumed first; `None` when nothing else is left.
    /// In a protocol with responses in any order, an outcome may be known without more bytes.
    fn addressee(&mut self, input: &mut &[u8]) -> Result<Option<RequestId>, ProtocolError>;

    /// Consumes bytes from the front of `input` until the outcome of the addressee is known, bytes
    /// for another one follow, or `input` is empty. `expect` describes the request. After an
    /// error the session must be given no more bytes.
    fn receive<W: Witness>(
        &mut self,
        input: &mut &[u8],
        expect: Expect,
        memory: &mut Self::Memory,
        witness: &mut W,
    ) -> Result<Option<Outcome>, ProtocolError>;

    /// The connection ended. A body that ends with the connection becomes the response to the
    /// oldest request.
    fn end(&mut self) -> Result<Option<Response>, ProtocolError>;

    /// How far the response has come of which some bytes have arrived.
    fn progress(&self) -> Progress {
        Progress::default()
    }

    /// What the bytes are that follow a whole response and belong to none that was asked for, or
    /// that are no response; `before` describes the request of the response before them. `None`
    /// when nothing came before them.
    fn unasked(&self, _bytes: &[u8], _before: Expect) -> Option<ProtocolError> {
        None
    }

    /// Messages of the last addressee since it was last asked, if its reply is a stream of them.
    #[inline]
    fn take_messages(&mut self) -> MessageCount {
        MessageCount::default()
    }

    /// What the responses consist of that were complete since it was last asked; nothing for a
    /// session that does not tell.
    #[inline]
    fn take_parts(&mut self) -> Parts {
        Parts::default()
    }
}

/// Messages of a reply that is a stream of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageCount {
    /// Those that are whole.
    pub came: u32,
    /// Of a conversation: messages of the request that they answer, and those that are due now.
    pub answered: u32,
    /// See `answered`.
    pub due: u32,
}

/// How the responses of a connection follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseOrder {
    /// In the order of the requests: a response does not name its request. For requests that were
    /// sent together, the session is asked for the addressee once.
    OfRequests,
    /// In any order: each response names its request.
    Any,
}

/// Sees what a session receives, as it arrives. The witness `()` ignores all of it, and the session
/// does no work for it.
pub trait Witness {
    /// The head of a response is complete, and its body follows.
    #[inline]
    fn head(&mut self, _status: u16) {}

    /// A header block of the current response, as it was encoded, where the protocol has such. Its
    /// status is 0 for trailers; if it says that a call failed, the number of that status.
    #[inline]
    fn block(&mut self, _status: u16, _block: &[u8]) {}

    /// Some bytes of the body of the current response, without the transfer coding.
    #[inline]
    fn body(&mut self, _piece: &[u8]) {}

    /// The server sent an event, which no request asked for by itself.
    #[inline]
    fn event(&mut self, _event: StreamEvent) {}
}

impl Witness for () {}

/// Both see everything.
impl<A: Witness, B: Witness> Witness for (A, B) {
    #[inline]
    fn head(&mut self, status: u16) {
        self.0.head(status);
        self.1.head(status);
    }

    #[inline]
    fn block(&mut self, status: u16, block: &[u8]) {
        self.0.block(status, block);
        self.1.block(status, block);
    }

    #[inline]
    fn body(&mut self, piece: &[u8]) {
        self.0.body(piece);
        self.1.body(piece);
    }

    #[inline]
    fn event(&mut self, event: StreamEvent) {
        self.0.event(event);
        self.1.event(event);
    }
}

/// One event of a stream, as far as it matters here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamEvent {
    /// Its number, as the server counts; `None` when its data has none.
    pub seq: Option<u64>,
    /// When it occurred, according to the server, nanoseconds of Unix time.
    pub at_ns: Option<u64>,
}

/// A response to write.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// Status code.
    pub status: u16,
    /// Its reason phrase, if the protocol has one.
    pub reason: &'a str,
    /// Names and values besides those that say how the body ends.
    pub fields: &'a [(&'a str, &'a str)],
    /// How the body ends.
    pub ending: Ending,
    /// The body.
    pub body: &'a [u8],
}

/// How a written body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// After a length that the head announces.
    Length,
    /// With its own end: it is one chunk.
    Chunk,
    /// At the end of the connection.
    Connection,
}
