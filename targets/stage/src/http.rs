//! The part of HTTP/1.1 that a server of requests without bodies needs.

use std::thread;

/// The parts of a request that matter here.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Path and query.
    pub path: &'a str,
    /// Bytes of the head.
    pub length: usize,
    /// Whether the client closes after the response.
    pub is_last: bool,
}

/// Why there is no request.
#[derive(Debug, PartialEq, Eq)]
pub enum NoRequest {
    /// The rest is still on its way.
    Incomplete,
    /// It is not one that this server accepts.
    Unfit,
}

/// Takes the first request from the received bytes.
pub fn parse(bytes: &[u8]) -> Result<Request<'_>, NoRequest> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or(NoRequest::Incomplete)?;
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| NoRequest::Unfit)?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (_method, Some(path), Some(version)) = (words.next(), words.next(), words.next()) else {
        return Err(NoRequest::Unfit);
    };
    let mut is_last = version == "HTTP/1.0";
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("connection") {
            is_last = value.eq_ignore_ascii_case("close");
        }
        let has_body = name.eq_ignore_ascii_case("content-length") && value != "0";
        if has_body || name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(NoRequest::Unfit);
        }
    }
    Ok(Request { path, length: end + 4, is_last })
}

/// Whether the connection stays open after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It does.
    KeepAlive,
    /// It does not, and the response says so.
    Close,
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// By its length.
    Length,
    /// The body is already in chunks.
    Chunked,
    /// By the end of the connection: a stream of events.
    Events,
}

/// The head of a response. It names the thread, so that clients can tell listeners apart.
pub fn head(status: &str, framing: Framing, body_bytes: usize, after: After) -> String {
    let close = match after {
        After::KeepAlive => "",
        After::Close => "Connection: close\r\n",
    };
    let thread = thread::current();
    let thread = thread.name().unwrap_or_default();
    let length = match framing {
        Framing::Length => format!("Content-Length: {body_bytes}"),
        Framing::Chunked => "Transfer-Encoding: chunked".to_owned(),
        Framing::Events => "Content-Type: text/event-stream".to_owned(),
    };
    format!("HTTP/1.1 {status}\r\nServer: {thread}\r\n{length}\r\n{close}\r\n")
}

/// Length of the first complete response in the received bytes, once its head has arrived.
pub fn response_length(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut fields = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let (_, body) = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    Some(end + 4 + body.trim().parse::<usize>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_when_it_is_whole() {
        let bytes = b"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\nGET /c";
        let request = parse(bytes).unwrap();
        assert_eq!((request.path, request.length, request.is_last), ("/a?b", 30, false));
        assert_eq!(parse(&bytes[30..]), Err(NoRequest::Incomplete));
        assert!(parse(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap().is_last);
        assert!(parse(b"GET / HTTP/1.0\r\n\r\n").unwrap().is_last);
    }

    #[test]
    fn bodies_and_nonsense_are_refused() {
        for wrong in [
            &b"GET /\r\n\r\n"[..],
            b"\xff / HTTP/1.1\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert_eq!(parse(wrong), Err(NoRequest::Unfit));
        }
    }

    #[test]
    fn a_response_is_as_long_as_it_says() {
        let head = head("200 OK", Framing::Length, 5, After::KeepAlive);
        assert_eq!(response_length(head.as_bytes()), Some(head.len() + 5));
        assert_eq!(response_length(b"HTTP/1.1 200 OK\r\n"), None);
    }
}
