//! Why bytes of a server are no response to a request, each reason by itself.
//!
//! For: what gives up a connection although the network is fine. Requests that fail for it have one
//! of the classes of [`ErrorClass`](crate::tick::ErrorClass); this says what was wrong.
//! In: a reason. Out: its name in the record, and a sentence.
//! Never: which bytes they were; the first of each kind is a sample ([`crate::sample`]).

use crate::maps::IntoMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::named! {
    /// Why bytes are not a response, or not one that a request asked for (RFC 9112).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Fault {
        /// The first line does not start with `HTTP/1.` and a digit (section 4).
        NotHttp = "not-http",
        /// The rest of the status line: no three digits from 100 on, or a NUL (section 4).
        BadStatus = "bad-status",
        /// A header line without a name and a colon, or with a NUL or a bare carriage return
        /// (sections 2.2 and 5).
        BadHeader = "bad-header",
        /// The head, or a line of a chunked body, is longer than ceiling reads.
        HeadTooLong = "head-too-long",
        /// Content-Length is no number, or two different ones, and no Transfer-Encoding overrides
        /// it (section 6.3).
        BadLength = "bad-length",
        /// A chunk size, the end of a chunk or a trailer is malformed (section 7.1).
        BadChunk = "bad-chunk",
        /// 101: the server switched to another protocol.
        Switched = "switched",
        /// The connection ended inside a response.
        Truncated = "truncated",
        /// A response began, and its rest did not come within the time-out.
        Stalled = "stalled",
        /// A whole response, or the start of one, that no request asked for.
        ExtraResponse = "extra-response",
        /// A body behind the response to HEAD.
        HeadBody = "body-of-head",
        /// A body behind a response with status 204 or 304.
        NoContentBody = "body-of-204",
        /// A body behind an interim response (1xx).
        InterimBody = "body-of-1xx",
        /// Bytes behind the end that a response announced, where the next response should begin.
        LongBody = "beyond-length",
        /// The first bytes are no frame with the settings of HTTP/2 (RFC 9113 section 3.4).
        NotHttp2 = "not-http2",
        /// A frame that HTTP/2 does not allow there, or not with this content (RFC 9113).
        BadFrame = "bad-frame",
        /// A header block that cannot be read (HPACK, RFC 7541).
        BadHeaderBlock = "bad-header-block",
    }
    /// The name in the record.
    fn name, parse;
}

impl Fault {
    /// Whether the bytes are ones that no request asked for, behind a response that was whole.
    pub fn is_unasked(self) -> bool {
        use Fault::{ExtraResponse, HeadBody, InterimBody, LongBody, NoContentBody};
        matches!(self, ExtraResponse | HeadBody | NoContentBody | InterimBody | LongBody)
    }

    /// What the server did, as the end of "the server ...".
    pub fn words(self) -> &'static str {
        match self {
            Self::NotHttp => "sent something that is not HTTP/1.1",
            Self::BadStatus => "sent a malformed status line",
            Self::BadHeader => "sent a malformed header line",
            Self::HeadTooLong => "sent a head of over 64 KiB",
            Self::BadLength => "announced a length that is no number",
            Self::BadChunk => "sent a malformed chunk",
            Self::Switched => "switched to another protocol",
            Self::Truncated => "closed the connection in the middle of a response",
            Self::Stalled => "stopped in the middle of a response",
            Self::ExtraResponse => "sent a response that no request had asked for",
            Self::HeadBody => "sent a body in response to HEAD",
            Self::NoContentBody => "sent a body with status 204 or 304",
            Self::InterimBody => "sent a body with an interim response (1xx)",
            Self::LongBody => "sent more or fewer bytes than it announced",
            Self::NotHttp2 => "sent something that is not HTTP/2",
            Self::BadFrame => "sent a frame that breaks the rules of HTTP/2",
            Self::BadHeaderBlock => "sent headers that HPACK cannot have",
        }
    }

    /// Where to look.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Truncated | Self::Stalled | Self::LongBody => {
                "compare its Content-Length with what it sends"
            }
            Self::ExtraResponse => "look for a handler that responds twice",
            Self::HeadBody | Self::NoContentBody | Self::InterimBody => {
                "such a response ends with its head: write no body"
            }
            Self::HeadTooLong => "look for cookies or headers that grow",
            Self::BadLength => "send one Content-Length, or chunks",
            Self::NotHttp => {
                "compare with `curl -v`; HTTP/2 without TLS is --http2-prior-knowledge"
            }
            _ => "compare with `curl -v`",
        }
    }
}

crate::tally_by! {
    /// Connections that were given up, by fault.
    pub struct Faults of Fault;
}

impl Faults {
    /// Those that occurred, by name.
    pub fn counted(&self) -> BTreeMap<String, u64> {
        let all = Fault::ALL.into_iter().map(|fault| (fault.name().to_string(), self.get(fault)));
        all.filter(|(_, count)| *count > 0).into_map()
    }
}

/// The fault that most connections were given up for, of those that a record has.
pub fn worst(faults: &BTreeMap<String, u64>) -> Option<(Fault, u64)> {
    let known = faults.iter().filter_map(|(name, count)| Some((Fault::parse(name)?, *count)));
    known.max_by_key(|(_, count)| *count)
}
