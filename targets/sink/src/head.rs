//! The meaning of one request head (RFC 9112): a pure function of the bytes of the whole head.
//!
//! Refuses everything that could make two parsers disagree on where a request ends: bare line
//! feeds, folded lines, spaces before a colon, two lengths, a length with a transfer coding.

use crate::refusal::{REQUEST_BODY_BYTES_MAX, Refusal};
use crate::route::Route;
use crate::sys::find_byte;

/// Longest method that is accepted.
const METHOD_BYTES_MAX: usize = 32;

/// What a head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The requested resource.
    pub route: Route,
    /// Whether the response has a body.
    pub wants: Wants,
    /// Whether the connection stays open.
    pub persistence: Persistence,
    /// How the body of the request ends.
    pub framing: Framing,
    /// Whether the client waits before it sends the body.
    pub pause: Pause,
}

/// Which part of a response the request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// Head and body.
    Body,
    /// The head alone: the method is HEAD.
    HeadOnly,
}

/// Whether the connection stays open after the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// It stays open, the default of HTTP/1.1.
    Keep,
    /// It stays open with an HTTP/1.0 client that asked for it.
    KeepOld,
    /// It ends, and the response has `Connection: close`.
    Close,
    /// It ends, the default of HTTP/1.0, and the client does not support chunks.
    CloseOld,
}

/// How the body of a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// After this many bytes, which may be none.
    Length(u64),
    /// With the last chunk.
    Chunked,
}

/// Whether the client waits for an interim response before it sends a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It does not.
    None,
    /// It sent `Expect: 100-continue`.
    ForContinue,
}

/// Refuses bytes that cannot become a request line, before a line end was seen.
pub fn check_method(line: &[u8]) -> Result<usize, Refusal> {
    let end = line.iter().position(|&byte| !is_token(byte)).unwrap_or(line.len());
    let finished = line.get(end);
    if end > METHOD_BYTES_MAX || finished.is_some_and(|&byte| byte != b' ' || end == 0) {
        return Err(Refusal::Malformed);
    }
    Ok(end)
}

/// Reads a whole head, from the first byte of the method to the empty line.
pub fn read(head: &[u8]) -> Result<Head, Refusal> {
    let mut lines = Lines { rest: head };
    let line = lines.next().ok_or(Refusal::Malformed)?;
    let method_end = check_method(line)?;
    let (method, rest) = line.split_at(method_end);
    let rest = rest.strip_prefix(b" ").ok_or(Refusal::Malformed)?;
    let target_end = find_byte(b' ', rest).ok_or(Refusal::Malformed)?;
    let (target, version) = (&rest[..target_end], &rest[target_end + 1..]);
    if target.is_empty() || !target.iter().all(|&byte| byte > b' ' && byte != 0x7f) {
        return Err(Refusal::Malformed);
    }
    let version = Version::of(version)?;
    let mut fields = Fields::default();
    for line in lines.take_while(|line| !line.is_empty()) {
        fields.read(line)?;
    }
    if version == Version::Http11 && fields.hosts != 1 {
        return Err(Refusal::Malformed);
    }
    Ok(Head {
        route: Route::of(method, target),
        wants: if method == b"HEAD" { Wants::HeadOnly } else { Wants::Body },
        persistence: fields.persistence(version),
        framing: fields.framing(version)?,
        pause: fields.pause(version)?,
    })
}

/// The lines of a head in which every line feed is known to follow a carriage return.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let feed = find_byte(b'\n', self.rest)?;
        let line = &self.rest[..feed - 1];
        self.rest = &self.rest[feed + 1..];
        Some(line)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Http10,
    Http11,
}

impl Version {
    fn of(text: &[u8]) -> Result<Self, Refusal> {
        match text {
            b"HTTP/1.1" => Ok(Self::Http11),
            b"HTTP/1.0" => Ok(Self::Http10),
            [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
                if major.is_ascii_digit() && minor.is_ascii_digit() =>
            {
                Err(Refusal::Version)
            }
            _ => Err(Refusal::Malformed),
        }
    }
}

/// The header fields that matter here.
#[derive(Debug, Default)]
struct Fields {
    length: Option<u64>,
    chunked: u32,
    hosts: u32,
    close: u32,
    keep_alive: u32,
    expect_continue: u32,
    expect_other: u32,
}

impl Fields {
    fn read(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let colon = find_byte(b':', line).ok_or(Refusal::Malformed)?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.is_empty() || !name.iter().all(|&byte| is_token(byte)) {
            return Err(Refusal::Malformed);
        }
        if value.iter().any(|&byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
            return Err(Refusal::Malformed);
        }
        let value = value.trim_ascii();
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.hosts += 1,
            6 if name.eq_ignore_ascii_case(b"expect") => self.read_expect(value),
            10 if name.eq_ignore_ascii_case(b"connection") => self.read_connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.read_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Refusal::Coding);
                }
                self.chunked += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn read_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) || self.length.is_some() {
            return Err(Refusal::Malformed);
        }
        let length = value.iter().fold(0_u64, |sum, digit| {
            sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
        });
        self.length = Some(length);
        Ok(())
    }

    fn read_connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',') {
            let option = option.trim_ascii();
            if option.eq_ignore_ascii_case(b"close") {
                self.close += 1;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive += 1;
            }
        }
    }

    fn read_expect(&mut self, value: &[u8]) {
        if value.eq_ignore_ascii_case(b"100-continue") {
            self.expect_continue += 1;
        } else {
            self.expect_other += 1;
        }
    }

    fn persistence(&self, version: Version) -> Persistence {
        match version {
            Version::Http11 if self.close > 0 => Persistence::Close,
            Version::Http11 => Persistence::Keep,
            Version::Http10 if self.keep_alive > 0 && self.close == 0 => Persistence::KeepOld,
            Version::Http10 => Persistence::CloseOld,
        }
    }

    fn framing(&self, version: Version) -> Result<Framing, Refusal> {
        match (self.chunked, self.length) {
            (0, length) if length.unwrap_or(0) > REQUEST_BODY_BYTES_MAX => {
                Err(Refusal::BodyTooLong)
            }
            (0, length) => Ok(Framing::Length(length.unwrap_or(0))),
            (1, None) if version == Version::Http11 => Ok(Framing::Chunked),
            _ => Err(Refusal::Malformed),
        }
    }

    fn pause(&self, version: Version) -> Result<Pause, Refusal> {
        if self.expect_other > 0 {
            return Err(Refusal::Expectation);
        }
        let waits = self.expect_continue > 0 && version == Version::Http11;
        Ok(if waits { Pause::ForContinue } else { Pause::None })
    }
}

/// Bytes of methods and field names (RFC 9110 section 5.6.2).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || {
        matches!(
            byte,
            b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Head, Refusal> {
        read(text.as_bytes())
    }

    fn with(fields: &str) -> Result<Head, Refusal> {
        head(&format!("POST /simple HTTP/1.1\r\nHost: a\r\n{fields}\r\n"))
    }

    #[test]
    fn a_plain_get_keeps_the_connection() {
        let seen = head("GET /simple HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!(seen.route, Route::Simple);
        assert_eq!(seen.persistence, Persistence::Keep);
        assert_eq!(seen.framing, Framing::Length(0));
        assert_eq!((seen.wants, seen.pause), (Wants::Body, Pause::None));
    }

    #[test]
    fn versions_and_options_decide_on_the_connection() {
        let old = |fields: &str| head(&format!("GET / HTTP/1.0\r\n{fields}\r\n")).unwrap();
        assert_eq!(old("").persistence, Persistence::CloseOld);
        assert_eq!(old("Connection: Keep-Alive\r\n").persistence, Persistence::KeepOld);
        assert_eq!(with("Connection: close\r\n").unwrap().persistence, Persistence::Close);
        let several = with("connection: upgrade,  CLOSE\r\n").unwrap();
        assert_eq!(several.persistence, Persistence::Close);
    }

    #[test]
    fn lengths_chunks_and_expectations_are_read() {
        assert_eq!(with("CONTENT-LENGTH:5\r\n").unwrap().framing, Framing::Length(5));
        assert_eq!(with("Transfer-Encoding: Chunked\r\n").unwrap().framing, Framing::Chunked);
        assert_eq!(with("Expect: 100-Continue\r\n").unwrap().pause, Pause::ForContinue);
        assert_eq!(with("Expect: tea\r\n"), Err(Refusal::Expectation));
        assert_eq!(with("Transfer-Encoding: gzip, chunked\r\n"), Err(Refusal::Coding));
        assert_eq!(with("Content-Length: 99999999999999999999\r\n"), Err(Refusal::BodyTooLong));
    }

    #[test]
    fn ambiguity_is_refused() {
        for fields in [
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: +5\r\n",
            "Content-Length: 5,5\r\n",
            "Content-Length:\r\n",
            "Host: b\r\n",
            "Name : value\r\n",
            " folded\r\n",
            "no colon\r\n",
            ": no name\r\n",
            "Name: bad\0value\r\n",
            "Name: lone return\r\r\n",
        ] {
            assert_eq!(with(fields), Err(Refusal::Malformed), "{fields:?}");
        }
        assert_eq!(head("GET / HTTP/1.1\r\n\r\n"), Err(Refusal::Malformed), "no host");
        let old = "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(head(old), Err(Refusal::Malformed));
    }

    #[test]
    fn request_lines_have_three_parts() {
        for line in [
            "GET /",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1 ",
            " GET / HTTP/1.1",
            "G\x01T / HTTP/1.1",
            "GET / http/1.1",
            "",
            "GET /\x7f HTTP/1.1",
        ] {
            let text = format!("{line}\r\nHost: a\r\n\r\n");
            assert_eq!(head(&text), Err(Refusal::Malformed), "{line:?}");
        }
        assert_eq!(head("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), Err(Refusal::Version));
    }
}
