//! Counting bytes, and how many requests they allow to be sent.

use std::io;
use std::ops::Range;

/// When a response is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// After this many bytes.
    OfOneSize { bytes: usize },
    /// After its head and as many bytes as the digits in it say. Responses come one by one (depth
    /// 1), and the first receive of each brings the digits.
    LengthAt { digits: Range<usize>, head: usize },
}

/// What was received, in total and on each connection.
#[derive(Debug)]
pub struct Tally {
    rule: Rule,
    /// By connection: received or missing bytes of a response.
    open: Vec<usize>,
    responses: u64,
    bytes: u64,
}

impl Tally {
    pub fn new(rule: Rule, connections: u32) -> Self {
        Self { rule, open: vec![0; connections as usize], responses: 0, bytes: 0 }
    }

    /// Responses so far.
    pub fn responses(&self) -> u64 {
        self.responses
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts one receive; returns how many responses it completed.
    #[inline]
    pub fn receive(&mut self, connection: usize, received: &[u8]) -> io::Result<usize> {
        self.bytes += received.len() as u64;
        let open = &mut self.open[connection];
        let responses = match &self.rule {
            Rule::OfOneSize { bytes: size } => {
                *open += received.len();
                // The common case needs no division.
                let responses = if *open == *size { 1 } else { *open / size };
                *open -= responses * size;
                responses
            }
            Rule::LengthAt { digits, head } => {
                if *open == 0 {
                    *open = head + length(received.get(digits.clone()))?;
                }
                let left = open.checked_sub(received.len());
                *open = left.ok_or_else(|| other("more bytes came than the response has"))?;
                usize::from(*open == 0)
            }
        };
        self.responses += responses as u64;
        Ok(responses)
    }
}

#[inline]
fn length(digits: Option<&[u8]>) -> io::Result<usize> {
    let digits = digits.ok_or_else(|| other("a receive was shorter than a head"))?;
    digits.iter().try_fold(0, |length, digit| match digit {
        b'0'..=b'9' => Ok(length * 10 + usize::from(digit - b'0')),
        _ => Err(other("the length of a response is not where it was")),
    })
}

#[cold]
fn other(reason: &str) -> io::Error {
    io::Error::other(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_complete_by_size_on_their_own_connection() {
        let mut tally = Tally::new(Rule::OfOneSize { bytes: 10 }, 2);
        let mut receive = |connection, bytes| tally.receive(connection, &[0; 50][..bytes]).unwrap();
        assert_eq!(receive(0, 9), 0);
        assert_eq!(receive(1, 10), 1);
        assert_eq!(receive(0, 1), 1);
        assert_eq!(receive(1, 35), 3);
        assert_eq!(receive(1, 5), 1);
        assert_eq!((tally.responses(), tally.bytes()), (6, 60));
    }

    #[test]
    fn responses_are_complete_by_the_length_they_say() {
        let mut tally = Tally::new(Rule::LengthAt { digits: 3..5, head: 6 }, 2);
        assert_eq!(tally.receive(0, b"..=04.ab").unwrap(), 0, "two of four");
        assert_eq!(tally.receive(1, b"..=00.").unwrap(), 1, "nothing follows");
        assert_eq!(tally.receive(0, b"cd").unwrap(), 1);
        assert_eq!(tally.receive(0, b"..=11.0123456789a").unwrap(), 1);
        assert_eq!(tally.responses(), 3);
    }

    #[test]
    fn what_is_no_such_response_ends_the_floor() {
        for received in [&b"..=0"[..], b"..=0x.", b"..=01.ab"] {
            let mut tally = Tally::new(Rule::LengthAt { digits: 3..5, head: 6 }, 1);
            assert!(tally.receive(0, received).is_err());
        }
    }
}
