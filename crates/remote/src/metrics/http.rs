//! As much of HTTP/1.1 as a scrape of `/metrics` needs.

use model::host_header::Hosts;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Time limit to read a request, and to write the response.
const WITHIN: Duration = Duration::from_secs(2);
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Serves one request and closes. A page of another site may not read the counters.
pub fn respond(socket: &TcpStream, hosts: &Hosts, text: impl FnOnce() -> String) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    let head = read_head(socket)?;
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, body) = match (method, path) {
        _ if !named(&head).all(|host| hosts.are(host)) => {
            ("421 Misdirected Request", format!("the counters are at {}metrics\n", hosts.example()))
        }
        (b"GET", b"/metrics") => ("200 OK", text()),
        (b"GET", _) => ("404 Not Found", "the counters are at /metrics\n".to_string()),
        _ => ("405 Method Not Allowed", "only GET is supported\n".to_string()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let response = [head, body].concat();
    write_all(socket, response.as_bytes())
}

/// The hosts that a request names. A browser names one; a scrape by HTTP/1.0 may name none.
fn named(head: &[u8]) -> impl Iterator<Item = &str> {
    let head = std::str::from_utf8(head).unwrap_or("host: ?");
    let fields = head.split('\n').filter_map(|line| line.split_once(':'));
    fields.filter(|(name, _)| name.trim().eq_ignore_ascii_case("host")).map(|(_, host)| host.trim())
}

/// How much is left of the time, which is for all of a head or all of a response.
fn left(begin: Instant) -> io::Result<Duration> {
    let left = WITHIN.saturating_sub(begin.elapsed());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Writes everything within the time: a slow reader must not keep others waiting.
fn write_all(mut socket: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let begin = Instant::now();
    while !bytes.is_empty() {
        socket.set_write_timeout(Some(left(begin)?))?;
        match socket.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Everything up to the empty line.
fn read_head(mut socket: &TcpStream) -> io::Result<Vec<u8>> {
    let (begin, mut head, mut piece) = (Instant::now(), Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
        socket.set_read_timeout(Some(left(begin)?))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn a_page_of_another_site_reads_no_counters() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let hosts = Hosts::of(listener.local_addr().unwrap(), "server1");
        for (fields, status) in [
            ("Host: 127.0.0.1:9201\r\n", 200),
            ("host:localhost:1\r\n", 200),
            ("", 200),
            ("Host: evil.test\r\nOrigin: http://evil.test\r\n", 421),
            ("HOST : evil.test\r\n", 421),
            ("Host: localhost\r\nHost: evil.test\r\n", 421),
            ("Host:\r\n", 421),
            ("Host: \u{e9}vil.test\r\n", 421),
        ] {
            let mut asker = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            asker.write_all(format!("GET /metrics HTTP/1.1\r\n{fields}\r\n").as_bytes()).unwrap();
            let (socket, _) = listener.accept().unwrap();
            respond(&socket, &hosts, || "secret 1\n".to_string()).unwrap();
            drop(socket);
            let mut said = String::new();
            asker.read_to_string(&mut said).unwrap();
            assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{fields:?}: {said}");
            assert_eq!(said.contains("secret"), status == 200, "{fields:?}");
        }
    }

    #[test]
    fn an_asker_that_takes_a_little_now_and_then_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut asker = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        asker.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let (socket, _) = listener.accept().unwrap();
        let is_left = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                // Each write is taken in part long before its own time is over.
                let mut piece = [0; 256 << 10];
                while !is_left.load(Ordering::Relaxed) && asker.read(&mut piece).is_ok() {
                    thread::sleep(Duration::from_millis(50));
                }
            });
            let hosts = Hosts::of(socket.local_addr().unwrap(), "");
            let answered = respond(&socket, &hosts, || "x".repeat(64 << 20));
            is_left.store(true, Ordering::Relaxed);
            drop(socket);
            assert!(answered.is_err(), "it took more than its time");
        });
    }
}
