//! What a session reports about the bytes it was given.

/// One complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Status code, 200 to 599. Interim responses (1xx) are skipped.
    pub status: u16,
    /// Bytes of the whole response: head, framing and body, interim responses before it included.
    pub bytes: u64,
    /// Whether the connection can carry another request.
    pub reusable: bool,
}

/// What a session must know about the request whose response comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// A response that may have a body.
    Body,
    /// A response to HEAD: its head describes a body that does not follow.
    HeadOnly,
}

/// Why bytes are not a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The status line is not that of HTTP/1.0 or HTTP/1.1.
    #[error("the response does not start with an HTTP/1.x status line")]
    NotHttp,
    /// The status code is outside 100 to 599.
    #[error("the status code is not between 100 and 599")]
    BadStatus,
    /// A header name or value has a byte that is not allowed, or a line end is wrong.
    #[error("a header line is malformed")]
    BadHeader,
    /// The head is longer than [`HEAD_BYTES_MAX`](crate::http1::HEAD_BYTES_MAX).
    #[error("the head of the response is too long")]
    HeadTooLong,
    /// Content-Length is not a number, is given twice with different values, or is given together
    /// with Transfer-Encoding.
    #[error("the length of the body is not clear")]
    BadLength,
    /// A chunk size or a chunk end is malformed.
    #[error("the chunked body is malformed")]
    BadChunk,
    /// 101: the server switches to another protocol.
    #[error("the server switched protocols")]
    Switched,
    /// The connection ended inside a response.
    #[error("the connection ended inside a response")]
    Truncated,
    /// Bytes came while no request was in flight.
    #[error("bytes arrived while no request was in flight")]
    Unsolicited,
}
