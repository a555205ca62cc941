//! As much of HTTP/1.1 as an asker for `/metrics` needs.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long an asker may take to ask, and to take the answer.
const WITHIN: Duration = Duration::from_secs(2);
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Answers one request and closes.
pub fn answer(mut socket: &TcpStream, text: impl FnOnce() -> String) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(WITHIN))?;
    let head = read_head(socket)?;
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        (b"GET", b"/metrics") => ("200 OK", text()),
        (b"GET", _) => ("404 Not Found", "the counters are at /metrics\n".to_string()),
        _ => ("405 Method Not Allowed", "only GET is answered\n".to_string()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes())?;
    socket.write_all(body.as_bytes())
}

/// Everything up to the empty line.
fn read_head(mut socket: &TcpStream) -> io::Result<Vec<u8>> {
    let (begin, mut head, mut piece) = (Instant::now(), Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = WITHIN.saturating_sub(begin.elapsed());
        if left.is_zero() || head.len() > HEAD_BYTES_MAX {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut piece) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => head.extend_from_slice(&piece[..count]),
            // A read with a time limit is not restarted after a signal (signal(7)).
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(head)
}
