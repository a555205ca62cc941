//! What a session reports about the bytes it was given.

/// Why bytes are not a response.
pub use model::fault::Fault as ProtocolError;

/// One complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Status code, 200 to 999; above 599 it is read as a server error (RFC 9110 section 15).
    /// Interim responses (1xx) are skipped. For a call, the number of its
    /// [status](model::call::CallStatus::number).
    pub status: u16,
    /// Bytes of the whole response: head, framing and body, interim responses before it included.
    pub bytes: u64,
    /// Whether the connection can carry another request.
    pub reusable: bool,
}

/// How a request ended, as far as the server said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With a complete response.
    Response(Response),
    /// The server did not process it.
    Refused,
    /// The server gave it up, without a complete response.
    Abandoned,
}

impl Outcome {
    /// The response, if it is one.
    pub fn response(self) -> Option<Response> {
        match self {
            Self::Response(response) => Some(response),
            Self::Refused | Self::Abandoned => None,
        }
    }
}

/// What a session must know about the request whose response comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A response that may have a body.
    Body,
    /// A response to HEAD: its head describes a body that does not follow.
    HeadOnly,
    /// A response to a call of gRPC with one message, whose status comes last. A session that
    /// knows no trailers reads it as any other.
    Call,
    /// The same with any number of messages.
    Stream,
    /// The same with one message for each of the request, which takes turns with them.
    Conversation,
}

/// How far the response has come whose bytes are arriving.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Status code; 0 when its status line is not complete.
    pub status: u16,
    /// Bytes of its body that have come where `body_bytes` is known, else of all of it.
    pub came_bytes: u64,
    /// Announced length of its body, once its head is complete.
    pub body_bytes: Option<u64>,
}
