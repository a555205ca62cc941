//! Learns before the load what makes a response complete.
//!
//! Only this module reads HTTP: the end of a head and its Content-Length.

use crate::options::Options;
use crate::tally::Rule;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::Duration;

/// Responses that are examined, one after the other.
const SAMPLE: usize = 200;
/// How long a response may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the length is in a response.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape {
    digits: Range<usize>,
    head: usize,
    length: usize,
}

/// Sends requests to the target until its responses are known.
pub fn rule(options: &Options) -> io::Result<Rule> {
    let mut stream = TcpStream::connect(options.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = options.request();
    let mut received = Vec::new();
    let shapes: Vec<Shape> = (0..SAMPLE)
        .map(|_| {
            stream.write_all(&request)?;
            response(&mut stream, &mut received)
        })
        .collect::<io::Result<_>>()?;
    rule_of(&shapes, options.depth).map_err(io::Error::other)
}

fn rule_of(shapes: &[Shape], depth: u32) -> Result<Rule, String> {
    let Some(first) = shapes.first() else { unreachable!("there were requests") };
    let size = |shape: &Shape| shape.head + shape.length;
    let Some(another) = shapes.iter().find(|shape| size(shape) != size(first)) else {
        return Ok(Rule::OfOneSize { bytes: size(first) });
    };
    let (one, two) = (size(first), size(another));
    if depth > 1 {
        return Err(format!("responses have {one}, {two} and more bytes, which needs depth 1"));
    }
    let stays = |shape: &Shape| shape.digits == first.digits && shape.head == first.head;
    if !shapes.iter().all(stays) {
        return Err(format!("responses have {one}, {two} and more bytes, and heads that differ"));
    }
    Ok(Rule::LengthAt { digits: first.digits.clone(), head: first.head })
}

/// Receives until one response is complete, and removes it from the buffer.
fn response(stream: &mut impl Read, received: &mut Vec<u8>) -> io::Result<Shape> {
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(shape) = whole(received)? {
            received.drain(..shape.head + shape.length);
            return Ok(shape);
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Err(io::Error::other("the target closed the connection")),
            Ok(count) => received.extend_from_slice(&buffer[..count]),
            // A read with a time limit is not restarted after a signal (signal(7)).
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The shape of the response at the start of `bytes`, once it is complete.
fn whole(bytes: &[u8]) -> io::Result<Option<Shape>> {
    let Some(head) = bytes.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&bytes[..head]).map_err(io::Error::other)?;
    let status = text.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        return Err(io::Error::other(format!("the target responded with status {status}")));
    }
    let value = text.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim())
    });
    let value = value.ok_or_else(|| io::Error::other("a response has no Content-Length"))?;
    let length = value.parse().map_err(io::Error::other)?;
    let start = value.as_ptr() as usize - text.as_ptr() as usize;
    let shape = Shape { digits: start..start + value.len(), head, length };
    Ok(Some(shape).filter(|shape| shape.head + shape.length <= bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_response_is_whole_with_its_body() {
        let response = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 3\r\n\r\nabcHTTP/1.1";
        for end in 0..response.len() {
            let shape = Shape { digits: 33..34, head: 38, length: 3 };
            assert_eq!(whole(&response[..end]).unwrap(), (end >= 41).then_some(shape), "{end}");
        }
    }

    /// Returns one byte at a time, with an interruption before each.
    struct Interrupted<'a>(&'a [u8], bool);

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Err(ErrorKind::Interrupted.into()) } else { self.0.read(&mut buffer[..1]) }
        }
    }

    #[test]
    fn a_signal_does_not_end_an_response() {
        let mut stream = Interrupted(b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 3\r\n\r\nabc", false);
        let shape = response(&mut stream, &mut Vec::new()).unwrap();
        assert_eq!((shape.head, shape.length), (38, 3));
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for response in ["HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"] {
            assert!(whole(response.as_bytes()).is_err());
        }
    }

    #[test]
    fn sizes_that_differ_need_a_head_that_does_not() {
        let shape = |start, head, length| Shape { digits: start..start + 2, head, length };
        let same = [shape(9, 20, 50), shape(8, 19, 51)];
        assert_eq!(rule_of(&same, 100), Ok(Rule::OfOneSize { bytes: 70 }));
        let many = [shape(9, 20, 50), shape(9, 20, 51)];
        assert_eq!(rule_of(&many, 1), Ok(Rule::LengthAt { digits: 9..11, head: 20 }));
        assert!(rule_of(&many, 2).unwrap_err().contains("needs depth 1"));
        let moving = [shape(9, 20, 50), shape(10, 21, 50)];
        assert!(rule_of(&moving, 1).unwrap_err().contains("heads that differ"));
    }
}
