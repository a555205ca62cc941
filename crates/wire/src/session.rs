//! The interface between connections and protocols.
//!
//! For: workers, which handle connections and requests but not the protocol on them. A protocol is
//! one type that implements [`Session`]. A worker is compiled for it, so the interface costs
//! nothing per response.
//! In: bytes as they arrive, and what the engine knows of the request that they answer.
//! Out: responses, each with its request; bodies, and what the server sends without a request, go
//! to a [`Witness`].
//! Never: a socket, a clock, or the choice of what is sent when.
//!
//! A worker gives every read to the session of its connection until all of it is consumed:
//! [`Session::addressee`] returns which request the next bytes answer, the worker looks that up,
//! and [`Session::receive`] consumes the bytes of its response.

use crate::response::{Expect, Progress, ProtocolError, Response};
use model::tick::Parts;

/// Which request of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestId {
    /// The oldest one without a response: the only one in a protocol that answers in order.
    Oldest,
    /// The one with this number on its connection, counted from 0 in the order of sending.
    Number(u32),
}

/// One side of one connection: turns the bytes that it is given into responses.
pub trait Session: Default {
    /// Name of the protocol in ALPN (RFC 7301).
    const ALPN: &'static [u8];
    /// How responses follow each other.
    const ORDER: ResponseOrder;

    /// What the responses to one target have in common, learned as they arrive.
    type Memory: Default;

    /// Requests that the peer allows in flight at once.
    #[inline]
    fn capacity(&self) -> u32 {
        u32::MAX
    }

    /// The request that the bytes at the front of `input` answer. Bytes that belong to no request,
    /// such as frames of the protocol itself, are consumed first; `None` when nothing else is left.
    fn addressee(&mut self, input: &mut &[u8]) -> Result<Option<RequestId>, ProtocolError>;

    /// Consumes bytes from the front of `input` until the response to the addressee is complete,
    /// bytes for another one follow, or `input` is empty. `expect` describes the request. After an
    /// error the session must not be used again.
    fn receive<W: Witness>(
        &mut self,
        input: &mut &[u8],
        expect: Expect,
        memory: &mut Self::Memory,
        witness: &mut W,
    ) -> Result<Option<Response>, ProtocolError>;

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

    /// What the responses consist of that were complete since it was last asked; nothing for a
    /// session that does not tell.
    #[inline]
    fn take_parts(&mut self) -> Parts {
        Parts::default()
    }

    /// Appends a response as a server would write it: for drivers and simulations without a server.
    fn respond(request: RequestId, reply: &Reply<'_>, output: &mut Vec<u8>);
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

    /// Some bytes of the body of the current response, without the transfer coding.
    #[inline]
    fn body(&mut self, _piece: &[u8]) {}

    /// The server sent an event, which no request asked for by itself.
    #[inline]
    fn event(&mut self, _event: StreamEvent) {}
}

impl Witness for () {}

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
