//! The size of the answers, learned before the load.
//!
//! This is the only place that reads HTTP: the end of a header and its Content-Length.

use crate::options::{Answers, Options};
use crate::tally::Rule;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Answers that must have the same size before it is taken for fixed.
const SAME: usize = 20;
/// Answers whose mean stands for all, and how many of them are asked for at once.
const SAMPLE: usize = 2000;
const AT_ONCE: usize = 20;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the target until its answers are known.
pub fn rule(options: &Options) -> io::Result<Rule> {
    let mut stream = TcpStream::connect(options.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = options.request();
    match options.answers {
        Answers::OfOneSize => {
            let sizes = sizes(&mut stream, &request, SAME)?;
            let (min, max) = (sizes.iter().min(), sizes.iter().max());
            let (Some(min), Some(max)) = (min, max) else { unreachable!("sizes were asked for") };
            if min != max {
                let reason = format!("answers have {min} to {max} bytes; use --answer-per-read");
                return Err(io::Error::other(reason));
            }
            Ok(Rule::OfOneSize { bytes: *min })
        }
        Answers::PerRead => {
            let sizes = sizes(&mut stream, &request, SAMPLE)?;
            let mean_bytes = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
            Ok(Rule::PerRead { mean_bytes })
        }
    }
}

fn sizes(stream: &mut TcpStream, request: &[u8], count: usize) -> io::Result<Vec<usize>> {
    let mut sizes = Vec::with_capacity(count);
    let mut received = Vec::new();
    while sizes.len() < count {
        stream.write_all(&request.repeat(AT_ONCE))?;
        for _ in 0..AT_ONCE {
            let size = answer(stream, &mut received)?;
            received.drain(..size);
            sizes.push(size);
        }
    }
    Ok(sizes)
}

/// Receives until one answer is whole; gives its size.
fn answer(stream: &mut TcpStream, received: &mut Vec<u8>) -> io::Result<usize> {
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(size) = whole(received)? {
            return Ok(size);
        }
        match stream.read(&mut buffer)? {
            0 => return Err(io::Error::other("the target closed the connection")),
            count => received.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The size of the answer at the start of `bytes`, once it is there to the end.
fn whole(bytes: &[u8]) -> io::Result<Option<usize>> {
    let Some(head) = bytes.windows(4).position(|end| end == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes[..head]);
    let status = text.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        return Err(io::Error::other(format!("the target answered with status {status}")));
    }
    let length = text.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.ok_or_else(|| io::Error::other("an answer has no Content-Length"))?;
    Ok(Some(head + length).filter(|size| *size <= bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_body() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 3\r\n\r\nabcHTTP/1.1";
        for end in 0..answer.len() {
            let expected = (end >= 41).then_some(41);
            assert_eq!(whole(&answer[..end]).unwrap(), expected, "{end}");
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for answer in ["HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"] {
            assert!(whole(answer.as_bytes()).is_err());
        }
    }
}
