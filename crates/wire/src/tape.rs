//! Requests, encoded once before the run and laid out so that any run of them is one slice.
//!
//! A connection that must send `count` requests starting at `position` passes one contiguous piece
//! of the tape to the kernel: no copy, no buffer per connection.

use crate::head::is_token;
use crate::http2::{Nth, Scheme, Shared};
use crate::response::Expect;
use crate::rules::Rules;
use model::call::Replies;
use model::check::Checks;
use model::load::{Request, Retry};
use std::ops::Range;

/// Why a request cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The method is not a token of RFC 9110.
    #[error("method '{0}' is not an HTTP token; for example GET")]
    Method(String),
    /// The path has a space or a control character.
    #[error("path '{0}' has a space or control character; write %20 for a space")]
    Path(String),
    /// A header name is not a token.
    #[error("header name '{0}' is not an HTTP token; for example 'X-Trace: on'")]
    HeaderName(String),
    /// A header value has a line break or another control character.
    #[error("the value of header '{0}' has a line break or control character")]
    HeaderValue(String),
    /// A header that ceiling itself must control.
    #[error("ceiling sets header '{0}' itself; leave it out")]
    Reserved(String),
    /// A header of one connection, which HTTP/2 does not have.
    #[error("HTTP/2 has no header '{0}' (RFC 9113 section 8.2.2); leave it out, or use --http 1")]
    NotInHttp2(String),
}

/// Encoded requests in sending order, repeated without end.
#[derive(Debug)]
pub struct Tape {
    bytes: Vec<u8>,
    /// `starts[i]` is where request `i` starts; one more entry than requests laid out.
    starts: Vec<usize>,
    /// `firsts[i]` is where request `i` starts in the form of the first one on a connection, if
    /// there is such a form.
    firsts: Vec<usize>,
    expects: Vec<Expect>,
    /// `targets[i]` is the target of request `i`.
    targets: Vec<u32>,
    /// `retries[i]` is the least that must be allowed for request `i` to be sent again.
    retries: Vec<Retry>,
    rules: Vec<Rules>,
    period: u32,
    batch_max: u32,
}

/// A tape is not made longer than this for the sake of larger batches, bytes.
const BATCH_BYTES_MAX: usize = 32 * 1024 * 1024;

impl Tape {
    /// Lays out `requests` so that up to `batch_max` in a row are contiguous from any position;
    /// fewer when they are very large, see [`Tape::batch_max`].
    pub fn new(requests: &[Request], batch_max: u32) -> Result<Self, EncodeError> {
        assert!(!requests.is_empty(), "a tape needs a request");
        assert!(batch_max >= 1, "a batch has at least one request");
        let encoded = requests.iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::lay_out(requests, &encoded, batch_max))
    }

    /// Lays out `requests` as frames of HTTP/2, each by itself.
    pub fn http2(requests: &[Request], scheme: Scheme) -> Result<Self, EncodeError> {
        assert!(!requests.is_empty(), "a tape needs a request");
        let shared = Shared::of(requests, scheme)?;
        let all = |nth| {
            let encoded = requests.iter().map(|request| shared.encode(request, scheme, nth));
            encoded.collect::<Result<Vec<_>, _>>()
        };
        let mut tape = Self::lay_out(requests, &all(Nth::Later)?, 1);
        for bytes in all(Nth::First)? {
            tape.firsts.push(tape.bytes.len());
            tape.bytes.extend_from_slice(&bytes);
        }
        Ok(tape)
    }

    fn lay_out(requests: &[Request], encoded: &[Vec<u8>], batch_max: u32) -> Self {
        let largest = encoded.iter().map(Vec::len).max().unwrap_or(1);
        let batch_max = batch_max.min((BATCH_BYTES_MAX / largest).max(1) as u32);
        let mut tape = Self {
            bytes: Vec::new(),
            starts: vec![0],
            firsts: Vec::new(),
            expects: requests.iter().map(expect_of).collect(),
            targets: requests.iter().map(|request| request.target).collect(),
            retries: requests.iter().map(|request| retry_of(&request.method)).collect(),
            rules: Vec::new(),
            period: requests.len() as u32,
            batch_max,
        };
        for bytes in encoded.iter().cycle().take(requests.len() + batch_max as usize - 1) {
            tape.bytes.extend_from_slice(bytes);
            tape.starts.push(tape.bytes.len());
        }
        tape
    }

    /// Adds what responses are checked against: one set of checks for each target. Without any
    /// check there are no rules at all.
    pub fn with_checks(mut self, checks: &[Checks]) -> Self {
        let has_rules = checks.iter().any(|checks| !checks.is_empty());
        self.rules = if has_rules { checks.iter().map(Rules::new).collect() } else { Vec::new() };
        self
    }

    /// Whether responses are checked.
    #[inline]
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether the reply to any request is a stream of messages.
    pub fn has_streams(&self) -> bool {
        let is_stream = |expect: &Expect| matches!(expect, Expect::Stream | Expect::Conversation);
        self.expects.iter().any(is_stream)
    }

    /// The rules for the response to the request at `position`. Only when there are rules.
    #[inline]
    pub fn rules(&self, position: u32) -> &Rules {
        &self.rules[self.target(position) as usize]
    }

    /// Which target the request at `position` belongs to.
    #[inline]
    pub fn target(&self, position: u32) -> u32 {
        self.targets[position as usize]
    }

    /// Whether all of `count` requests from `position` may be sent again.
    pub fn is_repeatable(&self, position: u32, count: u32, retry: Retry) -> bool {
        let places = (position..position + count).map(|place| (place % self.period) as usize);
        places.map(|place| self.retries[place]).all(|least| retry == Retry::Any || retry == least)
    }

    /// How many targets there are, at least 1.
    pub fn targets(&self) -> u32 {
        self.targets.iter().max().map_or(1, |last| last + 1)
    }

    /// How many requests lie in a span of [`Tape::span`].
    #[inline]
    pub fn count(&self, span: &Range<usize>) -> u32 {
        if self.period == 1 {
            return (span.len() / self.starts[1]) as u32;
        }
        let before = |at: usize| self.starts.partition_point(|start| *start < at);
        (before(span.end) - before(span.start)) as u32
    }

    /// Where `count` requests from `position` lie in [`Tape::bytes`].
    #[inline]
    pub fn span(&self, position: u32, count: u32) -> Range<usize> {
        self.starts[position as usize]..self.starts[(position + count) as usize]
    }

    /// Where the request at `position` lies as the first one on its connection.
    #[inline]
    pub fn first(&self, position: u32) -> Range<usize> {
        let nth = position as usize;
        let Some(&start) = self.firsts.get(nth) else { return self.span(position, 1) };
        start..self.firsts.get(nth + 1).copied().unwrap_or(self.bytes.len())
    }

    /// Requests after which the tape repeats.
    pub fn period(&self) -> u32 {
        self.period
    }

    /// Requests that are contiguous from any position, and so can be sent at once.
    #[inline]
    pub fn batch_max(&self) -> u32 {
        self.batch_max
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The position that follows `count` requests from `position`.
    #[inline]
    pub fn advance(&self, position: u32, count: u32) -> u32 {
        if self.period == 1 { 0 } else { (position + count) % self.period }
    }

    /// What the response to the request at `position` looks like.
    #[inline]
    pub fn expect(&self, position: u32) -> Expect {
        self.expects[position as usize]
    }
}

/// The least that must be allowed for a request with this method to be sent again.
fn retry_of(method: &str) -> Retry {
    if Retry::Idempotent.allows(method) { Retry::Idempotent } else { Retry::Any }
}

fn expect_of(request: &Request) -> Expect {
    match request.method.as_str() {
        "HEAD" => Expect::HeadOnly,
        _ if request.is_call() => match request.replies {
            Replies::One => Expect::Call,
            // Without a message there is nothing to reply to.
            Replies::Each if !request.body.is_empty() => Expect::Conversation,
            Replies::Stream | Replies::Each => Expect::Stream,
        },
        _ => Expect::Body,
    }
}

/// Encodes one request for HTTP/1.1 (RFC 9112 section 3). Only Host is added, and Content-Length
/// when there is a body or the method gives one a meaning.
fn encode(request: &Request) -> Result<Vec<u8>, EncodeError> {
    let Request { method, path, host, headers, body, .. } = request;
    check_line(method, path)?;
    let mut bytes = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    let given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    if !given("Host") {
        put_header(&mut bytes, "Host", host)?;
    }
    for (name, value) in headers {
        for reserved in ["Content-Length", "Transfer-Encoding"] {
            if name.eq_ignore_ascii_case(reserved) {
                return Err(EncodeError::Reserved(name.clone()));
            }
        }
        put_header(&mut bytes, name, value)?;
    }
    if !body.is_empty() || ["POST", "PUT", "PATCH"].contains(&method.as_str()) {
        put_header(&mut bytes, "Content-Length", &body.len().to_string())?;
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    Ok(bytes)
}

fn put_header(bytes: &mut Vec<u8>, name: &str, value: &str) -> Result<(), EncodeError> {
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(EncodeError::HeaderName(name.to_string()));
    }
    check_value(name, value)?;
    bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    Ok(())
}

/// Whether method and path are ones that a request can have.
pub(crate) fn check_line(method: &str, path: &str) -> Result<(), EncodeError> {
    if method.is_empty() || !method.bytes().all(is_token) {
        return Err(EncodeError::Method(method.to_string()));
    }
    if path.is_empty() || path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(EncodeError::Path(path.to_string()));
    }
    Ok(())
}

/// Whether a header can have this value.
pub(crate) fn check_value(name: &str, value: &str) -> Result<(), EncodeError> {
    let is_control = |byte: u8| byte != b'\t' && (byte < b' ' || byte == 0x7f);
    match value.bytes().any(is_control) {
        true => Err(EncodeError::HeaderValue(name.to_string())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request {
        let own = |(name, value): &(&str, &str)| ((*name).to_string(), (*value).to_string());
        Request {
            method: method.to_string(),
            path: path.to_string(),
            host: "localhost:8083".to_string(),
            headers: headers.iter().map(own).collect(),
            body: body.as_bytes().to_vec(),
            target: 0,
            ..Request::default()
        }
    }

    fn text(request: &Request) -> String {
        String::from_utf8(encode(request).unwrap()).unwrap()
    }

    #[test]
    fn a_get_has_a_host_and_nothing_else() {
        let get = request("GET", "/simple?x=1", &[], "");
        assert_eq!(text(&get), "GET /simple?x=1 HTTP/1.1\r\nHost: localhost:8083\r\n\r\n");
    }

    #[test]
    fn a_body_gets_its_length_and_host_can_be_replaced() {
        let post = request("POST", "/echo", &[("host", "other"), ("X-A", "b")], "hello");
        let expected =
            "POST /echo HTTP/1.1\r\nhost: other\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(text(&post), expected);
        let empty = text(&request("POST", "/echo", &[], ""));
        assert!(empty.contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn nothing_can_be_smuggled_in() {
        let refused = [
            request("GE T", "/", &[], ""),
            request("", "/", &[], ""),
            request("GET", "/a b", &[], ""),
            request("GET", "/\r\nX: y", &[], ""),
            request("GET", "", &[], ""),
            request("GET", "/", &[("X Y", "z")], ""),
            request("GET", "/", &[("", "z")], ""),
            request("GET", "/", &[("X", "a\r\nY: b")], ""),
            request("GET", "/", &[("content-length", "3")], ""),
            request("GET", "/", &[("Transfer-Encoding", "chunked")], ""),
        ];
        for bad in refused {
            assert!(encode(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn large_requests_make_small_batches() {
        let large = request("POST", "/", &[], &"x".repeat(10_000_000));
        let tape = Tape::new(&[large], 1000).unwrap();
        assert_eq!(tape.batch_max(), 3);
        assert!(tape.bytes().len() < BATCH_BYTES_MAX);
    }

    #[test]
    fn any_batch_is_one_slice() {
        let requests = [request("GET", "/a", &[], ""), request("HEAD", "/bb", &[], "")];
        let tape = Tape::new(&requests, 3).unwrap();
        let (a, b) = (text(&requests[0]), text(&requests[1]));
        let slice = |position, count| {
            String::from_utf8(tape.bytes()[tape.span(position, count)].to_vec()).unwrap()
        };
        assert_eq!(slice(0, 3), format!("{a}{b}{a}"));
        assert_eq!(slice(1, 3), format!("{b}{a}{b}"));
        assert_eq!((tape.advance(1, 3), tape.advance(0, 2)), (0, 0));
        assert_eq!((tape.expect(0), tape.expect(1)), (Expect::Body, Expect::HeadOnly));
        for (position, count) in [(0, 1), (0, 2), (0, 3), (1, 1), (1, 3)] {
            assert_eq!(tape.count(&tape.span(position, count)), count);
        }
    }
}
