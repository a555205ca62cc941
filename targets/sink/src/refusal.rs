//! Why bytes are not a request, and the limits of one.

/// Longest head that is accepted.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Longest request body that is accepted. It costs no memory, only time.
pub const REQUEST_BODY_BYTES_MAX: u64 = 1 << 30;

/// Why bytes are not a request. Nothing after them can be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is not HTTP/1, or two parsers could understand it differently.
    Malformed,
    /// The body is longer than [`REQUEST_BODY_BYTES_MAX`].
    BodyTooLong,
    /// `Expect` asks for something unknown.
    Expectation,
    /// The head, or the trailer, is longer than [`HEAD_BYTES_MAX`].
    HeadTooLong,
    /// A transfer coding that is not `chunked`.
    Coding,
    /// A version that is not 1.0 or 1.1.
    Version,
}

impl Refusal {
    /// The status of the refusal.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::BodyTooLong => 413,
            Self::Expectation => 417,
            Self::HeadTooLong => 431,
            Self::Coding => 501,
            Self::Version => 505,
        }
    }
}
