//! Calls of gRPC: how one ended, by its status.
//!
//! A call travels as a request of HTTP/2, and its status comes behind the response, in trailers.
//! Wherever a status of HTTP is counted, that of a call stands in its place, as a number that HTTP
//! does not have: [`CallStatus::number`].

use crate::load::Request;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::named! {
    /// Status of a call, in the order of their codes
    /// (<https://github.com/grpc/grpc/blob/master/doc/statuscodes.md>).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CallStatus {
        /// It is good.
        Ok = "OK",
        /// The caller gave it up.
        Cancelled = "CANCELLED",
        /// None was sent, or one that is not in this list.
        Unknown = "UNKNOWN",
        /// The message makes no sense.
        InvalidArgument = "INVALID_ARGUMENT",
        /// The deadline had passed.
        DeadlineExceeded = "DEADLINE_EXCEEDED",
        /// What was asked for is not there.
        NotFound = "NOT_FOUND",
        /// What was to be made is there.
        AlreadyExists = "ALREADY_EXISTS",
        /// The caller may not do this.
        PermissionDenied = "PERMISSION_DENIED",
        /// A quota or a limit is used up.
        ResourceExhausted = "RESOURCE_EXHAUSTED",
        /// The state of the server does not allow it.
        FailedPrecondition = "FAILED_PRECONDITION",
        /// It met another call.
        Aborted = "ABORTED",
        /// Behind the end of what there is.
        OutOfRange = "OUT_OF_RANGE",
        /// The server has no such method.
        Unimplemented = "UNIMPLEMENTED",
        /// Something is broken; also a response without its one message.
        Internal = "INTERNAL",
        /// Not now.
        Unavailable = "UNAVAILABLE",
        /// Data is lost.
        DataLoss = "DATA_LOSS",
        /// The caller did not say who it is.
        Unauthenticated = "UNAUTHENTICATED",
    }
    /// The name in tables and in the record.
    fn name, parse;
}

/// How many messages the reply to a call is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replies {
    /// One.
    #[default]
    One,
    /// Any number, one after the other, until the status ends them.
    Stream,
    /// One for each message of the request, which waits for the reply to the one before it.
    Each,
}

impl Replies {
    /// Whether it is one.
    pub fn is_one(&self) -> bool {
        *self == Self::One
    }
}

/// Number of the first status of a call: those of HTTP are below.
pub const FIRST: u16 = 1000;
/// Number of the last one.
pub const LAST: u16 = FIRST + CallStatus::ALL.len() as u16 - 1;
/// Status of HTTP of every response to a call that a server of gRPC sends.
const HTTP_OK: u16 = 200;

impl CallStatus {
    /// The status with a code; a code that the protocol does not define is unknown.
    pub fn of_code(code: u64) -> Self {
        let place = usize::try_from(code).unwrap_or(usize::MAX);
        Self::ALL.get(place).copied().unwrap_or(Self::Unknown)
    }

    /// The status of a call without one, by the status of HTTP
    /// (<https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md>).
    pub fn of_http(status: u16) -> Self {
        match status {
            400 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502 | 503 | 504 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    /// The number that stands for it among the statuses of HTTP: 200 when it is good, so that a
    /// good response is the same for both.
    #[inline]
    pub fn number(self) -> u16 {
        match self {
            Self::Ok => HTTP_OK,
            other => FIRST + other as u16,
        }
    }

    /// The status with a number; nothing for a status of HTTP.
    pub fn of_number(number: u16) -> Option<Self> {
        number.checked_sub(FIRST).map(|code| Self::of_code(u64::from(code)))
    }

    /// The status of HTTP that means the same, which says whose fault it was
    /// (<https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto>).
    pub fn as_http(self) -> u16 {
        use CallStatus::*;
        match self {
            Ok => HTTP_OK,
            InvalidArgument | FailedPrecondition | OutOfRange => 400,
            Unauthenticated => 401,
            PermissionDenied => 403,
            NotFound => 404,
            AlreadyExists | Aborted => 409,
            ResourceExhausted => 429,
            Cancelled => 499,
            Unknown | Internal | DataLoss => 500,
            Unimplemented => 501,
            Unavailable => 503,
            DeadlineExceeded => 504,
        }
    }
}

/// Whose words are used where HTTP and gRPC have the same number: a good response to a call is
/// `OK`, not 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    /// Plain HTTP.
    Http,
    /// All requests are calls.
    Grpc,
}

impl Spoken {
    /// What is spoken by requests.
    pub fn of(requests: &[Request]) -> Self {
        let is_grpc = !requests.is_empty() && requests.iter().all(Request::is_call);
        if is_grpc { Self::Grpc } else { Self::Http }
    }

    /// Counts by the names of statuses, which [`name`] has given, in the words of what is spoken.
    pub fn told(self, mut counts: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        let good = (self == Self::Grpc).then(|| counts.remove(&name(HTTP_OK))).flatten();
        counts.extend(good.map(|count| (CallStatus::Ok.name().to_string(), count)));
        counts
    }
}

/// What a status is called.
pub fn name(number: u16) -> String {
    let of_call = CallStatus::of_number(number).map(|status| status.name().to_string());
    of_call.unwrap_or_else(|| number.to_string())
}

/// The status of HTTP that a status in a record is, or means.
pub fn http_of(name: &str) -> Option<u16> {
    CallStatus::parse(name).map(CallStatus::as_http).or_else(|| name.parse().ok())
}

/// What `grpc-message` says, which has bytes as `%C3`.
pub fn message(sent: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), sent.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let is_coded = |digits: &&[u8]| first == b'%' && digits.iter().all(u8::is_ascii_hexdigit);
        let digits = after.get(..2).filter(is_coded);
        let coded = digits.and_then(|digits| str::from_utf8(digits).ok());
        let coded = coded.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(coded.unwrap_or(first));
        rest = if coded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a request is a call, by its content type.
pub(crate) fn is_call(headers: &[(String, String)]) -> bool {
    let kind = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let rest = kind.and_then(|(_, value)| value.trim().strip_prefix("application/grpc"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_protocol() {
        for (code, name) in [(0, "OK"), (4, "DEADLINE_EXCEEDED"), (8, "RESOURCE_EXHAUSTED")] {
            assert_eq!(CallStatus::of_code(code).name(), name);
        }
        assert_eq!(CallStatus::of_code(16), CallStatus::Unauthenticated);
        let by_http = [(401, "UNAUTHENTICATED"), (404, "UNIMPLEMENTED"), (429, "UNAVAILABLE")];
        for (status, name) in
            [(400, "INTERNAL"), (504, "UNAVAILABLE"), (500, "UNKNOWN")].into_iter().chain(by_http)
        {
            assert_eq!(CallStatus::of_http(status).name(), name, "{status}");
        }
        for code in [17, 99, u64::MAX] {
            assert_eq!(CallStatus::of_code(code), CallStatus::Unknown);
        }
    }

    #[test]
    fn a_number_stands_for_one_status() {
        for status in CallStatus::ALL {
            let number = status.number();
            let is_same = CallStatus::of_number(number).is_none_or(|other| other == status);
            assert!(is_same && (number == 200 || (FIRST..=LAST).contains(&number)), "{status:?}");
            let counts = BTreeMap::from([(name(number), 3)]);
            let told = Spoken::Grpc.told(counts);
            assert_eq!(told, BTreeMap::from([(status.name().to_string(), 3)]));
            assert_eq!(http_of(status.name()), Some(status.as_http()));
        }
        let counts = BTreeMap::from([(name(200), 3), (name(503), 1)]);
        assert_eq!(Spoken::Http.told(counts.clone()), counts);
        assert_eq!((http_of("404"), http_of("closed")), (Some(404), None));
    }

    #[test]
    fn a_message_is_read_as_it_was_meant() {
        for (sent, meant) in [
            ("no more, 100%25 used", "no more, 100% used"),
            ("se%C3%B1or%", "señor%"),
            ("%zz %+1 %", "%zz %+1 %"),
            ("%FF", "\u{fffd}"),
        ] {
            assert_eq!(message(sent), meant);
        }
    }

    #[test]
    fn a_call_is_known_by_its_content_type() {
        let of = |value: &str| is_call(&[("Content-Type".to_string(), value.to_string())]);
        for (value, is) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;x=y", true),
            ("application/grpc-web", false),
            ("application/json", false),
        ] {
            assert_eq!(of(value), is, "{value}");
        }
        assert!(!is_call(&[]));
    }
}
