//! Responses other than streams of events.

use super::request::Refused;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Headers of every response: no caching, no content sniffing, no framing, no referrer.
const ALWAYS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n";
/// The content security policy of resources that are not pages: nothing is allowed.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";
/// How long one write may wait.
const WRITE_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of one write; the time limit is checked after each.
const PIECE: usize = 256 << 10;

/// The bytes to serve at a path.
#[derive(Debug, Clone)]
pub struct Served {
    /// The content type.
    pub content_type: &'static str,
    /// The content security policy of the header, in addition to that in the page itself.
    pub policy: Option<String>,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

/// Sends bytes.
pub(super) fn bytes(mut stream: TcpStream, served: &Served, limit: Duration) {
    let Served { content_type, policy, bytes } = served;
    let (policy, length) = (policy.as_deref().unwrap_or(NOTHING), bytes.len());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Content-Security-Policy: {policy}\r\n{ALWAYS}\r\n"
    );
    let until = Instant::now() + limit;
    // A client that does not read is gone.
    let _ = write_until(&mut stream, head.as_bytes(), until)
        .and_then(|()| write_until(&mut stream, bytes, until));
    let _ = stream.shutdown(Shutdown::Write);
}

/// Starts a stream of events.
pub(super) fn begin_events(stream: &mut TcpStream, until: Instant) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
         Content-Security-Policy: {NOTHING}\r\n{ALWAYS}\r\nretry: 1000\n\n"
    );
    write_until(stream, head.as_bytes(), until)
}

/// Redirects to another path.
pub(super) fn moved(stream: TcpStream, to: &str) {
    let extra = format!("Location: {to}\r\n");
    plain(stream, "301 Moved Permanently", &extra, "see the other path\n");
}

/// Sends the reason of a refusal.
pub(super) fn refuse(stream: TcpStream, why: &Refused) {
    let (status, extra, text) = match why {
        Refused::Malformed => ("400 Bad Request", "", "this is not an HTTP/1.1 request\n"),
        Refused::TooLong => ("431 Request Header Fields Too Large", "", "the head is too long\n"),
        Refused::TooSlow => ("408 Request Timeout", "", "the request took too long\n"),
        Refused::Method => ("405 Method Not Allowed", "Allow: GET\r\n", "only GET is supported\n"),
        Refused::Host => (
            "421 Misdirected Request",
            "",
            "the Host header must be an address of this machine, or localhost\n",
        ),
        Refused::Missing => ("404 Not Found", "", "there is nothing at this path\n"),
        Refused::Busy => {
            ("503 Service Unavailable", "Retry-After: 5\r\n", "too many connections\n")
        }
    };
    plain(stream, status, extra, text);
}

fn plain(mut stream: TcpStream, status: &str, extra: &str, text: &str) {
    let length = text.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nContent-Security-Policy: {NOTHING}\r\n{extra}{ALWAYS}\r\n\
         {text}"
    );
    let _ = write_until(&mut stream, response.as_bytes(), Instant::now() + WRITE_LIMIT);
    let _ = stream.shutdown(Shutdown::Write);
}

/// Writes all bytes, or gives up at an instant, even if the reader takes a byte now and then.
pub(super) fn write_until(
    stream: &mut TcpStream,
    mut bytes: &[u8],
    until: Instant,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left.min(WRITE_LIMIT)))?;
        match stream.write(&bytes[..bytes.len().min(PIECE)]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
