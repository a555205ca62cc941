//! What a head of HTTP/1.1 consists of, shared by the parser, the recogniser and the writer.
//!
//! Hot: runs for every response.

/// How the body of a response ends (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After this many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// At the end of the connection.
    UntilClose,
}

/// A header that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    ContentLength,
    TransferEncoding,
    Connection,
    Other,
}

impl Field {
    #[inline]
    pub(crate) fn of(lowercase_name: &[u8]) -> Self {
        match lowercase_name {
            b"content-length" => Self::ContentLength,
            b"transfer-encoding" => Self::TransferEncoding,
            b"connection" => Self::Connection,
            _ => Self::Other,
        }
    }
}

/// Whether `byte` may appear in a header value or reason phrase: visible, space, tab or above 0x7f.
#[inline]
pub(crate) fn is_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Whether `byte` may appear in a token (RFC 9110 section 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
