//! `/events/...`: events as fast as the socket accepts them, for subscribers.
//!
//! Each connection has its own stream, numbered from 1, so each path should have one subscriber.
//! Events are written in batches; all events of a batch have the time at which it was made. With
//! --leave-out some numbers are missing, as after drops.

use crate::http::{After, Framing, head};
use rustix::time::{ClockId, clock_gettime};
use std::convert::Infallible;
use std::io::{self, Write};
use std::net::TcpStream;

/// The prefix of paths of streams.
pub const PREFIX: &str = "/events/";
/// Bytes after which a batch is written.
const BATCH_BYTES: usize = 64 * 1024;

/// Writes events to the end of the connection; the error that ended it.
pub fn serve(stream: &mut TcpStream, path: &str, leave_out: Option<u64>) -> io::Error {
    let post = path.strip_prefix(PREFIX).unwrap_or_default();
    // Any other name could break the JSON.
    let is_name = post.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let post = if is_name { post } else { "" };
    let head = head("200 OK", Framing::Events, 0, After::Close);
    let Err(error) = write_all(stream, &head, post, leave_out);
    error
}

/// Writes head and events until that fails.
fn write_all(
    stream: &mut TcpStream,
    head: &str,
    post: &str,
    leave_out: Option<u64>,
) -> io::Result<Infallible> {
    stream.write_all(head.as_bytes())?;
    let middle = format!("\ndata: {{\"post\":\"{post}\",\"likes\":");
    let (mut number, mut seq) = (Decimal::default(), 0u64);
    let mut batch = Vec::with_capacity(2 * BATCH_BYTES);
    loop {
        let end = format!(",\"at_ns\":{}}}\n\n", unix_ns());
        batch.clear();
        while batch.len() < BATCH_BYTES {
            number.increase();
            seq += 1;
            if leave_out.is_some_and(|every| seq.is_multiple_of(every)) {
                continue;
            }
            for part in [b"id: ".as_slice(), number.digits(), middle.as_bytes(), number.digits()] {
                batch.extend_from_slice(part);
            }
            for part in [b",\"seq\":".as_slice(), number.digits(), end.as_bytes()] {
                batch.extend_from_slice(part);
            }
        }
        stream.write_all(&batch)?;
    }
}

fn unix_ns() -> i128 {
    let now = clock_gettime(ClockId::Realtime);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// A number that is incremented as text, which costs less than formatting it.
#[derive(Debug)]
struct Decimal {
    text: [u8; 20],
    begin: usize,
}

impl Default for Decimal {
    fn default() -> Self {
        Self { text: [b'0'; 20], begin: 19 }
    }
}

impl Decimal {
    fn digits(&self) -> &[u8] {
        &self.text[self.begin..]
    }

    fn increase(&mut self) {
        for at in (0..self.text.len()).rev() {
            if self.text[at] < b'9' {
                self.text[at] += 1;
                self.begin = self.begin.min(at);
                return;
            }
            self.text[at] = b'0';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_counted_like_a_number() {
        let mut number = Decimal::default();
        for expected in 1..=10_100 {
            number.increase();
            assert_eq!(number.digits(), expected.to_string().as_bytes());
        }
    }
}
