//! One request to an HTTP endpoint outside the load, such as the statistics of a server's runtime.

use crate::scan;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long a response may take, and how long it may be.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Longest time without a byte.
    pub step: Duration,
    /// Longest time in all. Each piece may take a step, so all of them have a limit too.
    pub whole: Duration,
    /// Longest response, bytes.
    pub bytes_max: usize,
}

/// The body of the response to `GET path`, whose status must be 200. Each call opens a connection,
/// which HTTP/1.0 closes after a response without chunks.
pub fn get(address: SocketAddr, path: &str, patience: Patience) -> io::Result<Vec<u8>> {
    let response = exchange(address, path, patience)?;
    let body = body(&response).ok_or_else(|| {
        let line = response.split(|&byte| byte == b'\r').next().unwrap_or_default();
        let line = scan::text(&line[..line.len().min(40)]);
        io::Error::other(format!("it answers '{line}', not an HTTP response with status 200"))
    })?;
    Ok(body.to_vec())
}

/// The body of a response with status 200.
pub fn body(response: &[u8]) -> Option<&[u8]> {
    let end = response.windows(4).position(|window| window == b"\r\n\r\n")?;
    let status = scan::words(&response[..end]).nth(1);
    let is_good = response.starts_with(b"HTTP/1.") && status == Some(b"200");
    is_good.then(|| &response[end + 4..])
}

fn exchange(address: SocketAddr, path: &str, patience: Patience) -> io::Result<Vec<u8>> {
    let begin = Instant::now();
    let mut stream = TcpStream::connect_timeout(&address, patience.step)?;
    stream.set_read_timeout(Some(patience.step))?;
    stream.set_write_timeout(Some(patience.step))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut response = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    while response.len() < patience.bytes_max && begin.elapsed() < patience.whole {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(response),
            Ok(count) => response.extend_from_slice(&buffer[..count]),
            // A read with a time limit is not restarted after a signal (signal(7)).
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::new(ErrorKind::TimedOut, "it does not answer in time"));
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("the response is too long, or takes too long"))
}
