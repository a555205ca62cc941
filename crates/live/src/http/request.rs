//! The head of a request, within limits of size and time.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest head, bytes.
const HEAD_MAX: usize = 8 << 10;
/// The most headers.
const HEADERS_MAX: usize = 64;
/// How long reading a head may take.
const HEAD_LIMIT: Duration = Duration::from_secs(5);

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is not a valid HTTP request.
    Malformed,
    /// Its head is too long.
    TooLong,
    /// It took too long, or the client closed the connection.
    TooSlow,
    /// Its method is not GET.
    Method,
    /// Its Host header names another server.
    Host,
    /// There is no resource at its path.
    Missing,
    /// There are too many connections.
    Busy,
}

/// The parts of a request that are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// Decoded path without query; starts with a slash and has no `..`.
    pub(super) path: String,
    /// The Host header.
    pub(super) host: String,
    /// The last event that the watcher has received.
    pub(super) last_event: Option<String>,
}

impl Request {
    /// Reads a request from a connection.
    pub(super) fn read(stream: &mut TcpStream) -> Result<Self, Refused> {
        let begin = Instant::now();
        let (mut head, mut filled) = (vec![0; HEAD_MAX], 0);
        loop {
            let left = HEAD_LIMIT.checked_sub(begin.elapsed()).filter(|left| !left.is_zero());
            let left = left.ok_or(Refused::TooSlow)?;
            stream.set_read_timeout(Some(left)).map_err(|_| Refused::TooSlow)?;
            match stream.read(&mut head[filled..]) {
                Ok(0) | Err(_) => return Err(Refused::TooSlow),
                Ok(count) => filled += count,
            }
            if let Some(request) = Self::parse(&head[..filled])? {
                return Ok(request);
            }
            if filled == HEAD_MAX {
                return Err(Refused::TooLong);
            }
        }
    }

    /// Parses a head; `None` while it is not complete.
    fn parse(head: &[u8]) -> Result<Option<Self>, Refused> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Refused::TooLong),
            Err(_) => return Err(Refused::Malformed),
        }
        if parsed.method != Some("GET") {
            return Err(Refused::Method);
        }
        let mut hosts = valued(parsed.headers, "host");
        let host = hosts.next().unwrap_or_default();
        if hosts.next().is_some() {
            return Err(Refused::Malformed);
        }
        let last_event = valued(parsed.headers, "last-event-id").next();
        let path = path(parsed.path.unwrap_or_default()).ok_or(Refused::Missing)?;
        Ok(Some(Self { path, host, last_event }))
    }
}

/// The values of a header as text; a value that is not text matches nothing.
fn valued<'a>(
    headers: &'a [httparse::Header<'a>],
    name: &'a str,
) -> impl Iterator<Item = String> + 'a {
    let named = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    named.map(|header| String::from_utf8_lossy(header.value).trim().to_string())
}

/// The decoded path without its query. `None` if it does not start with a slash, is not text, or
/// has a part that leads out of the site.
fn path(target: &str) -> Option<String> {
    let target = target.split(['?', '#']).next()?;
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let path = String::from_utf8(bytes).ok()?;
    let leads_away = |part: &str| part == ".." || part == ".";
    let is_plain = |c: char| !c.is_control() && c != '\\';
    let is_ours = path.starts_with('/') && path.chars().all(is_plain);
    (is_ours && !path.split('/').any(leads_away)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Request>, Refused> {
        Request::parse(text.as_bytes())
    }

    #[test]
    fn a_request_is_its_path_its_host_and_where_it_was() {
        let head = "GET /events?x=1 HTTP/1.1\r\nHost: localhost:1\r\nLast-Event-ID: a-7\r\n\r\n";
        let request = parse(head).unwrap().unwrap();
        assert_eq!((request.path.as_str(), request.host.as_str()), ("/events", "localhost:1"));
        assert_eq!(request.last_event.as_deref(), Some("a-7"));
        for end in 0..head.len() {
            assert_eq!(parse(&head[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn what_is_not_asked_is_refused() {
        let with = |line: &str| parse(&format!("{line}\r\nHost: x\r\n\r\n"));
        assert_eq!(with("POST / HTTP/1.1"), Err(Refused::Method));
        assert_eq!(with("GET / HTTP/9"), Err(Refused::Malformed));
        assert_eq!(parse("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), Err(Refused::Malformed));
        let many = "a: b\r\n".repeat(HEADERS_MAX + 1);
        assert_eq!(parse(&format!("GET / HTTP/1.1\r\n{many}\r\n")), Err(Refused::TooLong));
        assert_eq!(parse("\u{16}\u{3}\u{1}").map(|_| ()), Err(Refused::Malformed), "TLS");
    }

    #[test]
    fn no_path_leads_up() {
        let paths = [
            "/../etc",
            "/a/../../b",
            "/%2e%2e/x",
            "/a/%2E%2e",
            "/.",
            "x",
            "",
            "*",
            "/%zz",
            "/%ff",
            "/a\\..\\b",
            "/%00",
            "http://evil.test/",
            "/%2",
            "/..%2f..",
        ];
        for wrong in paths {
            assert_eq!(path(wrong), None, "{wrong}");
        }
        assert_eq!(path("/a%20b/c.html?q=/../#x").as_deref(), Some("/a b/c.html"));
        assert_eq!(path("/..a/b..").as_deref(), Some("/..a/b.."));
    }
}
