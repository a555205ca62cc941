//! The receiving side of one connection, sans IO: bytes in pieces of any size, requests out.
//!
//! A head is read in one of three ways. One that equals the last head of this thread has the same
//! meaning, which costs one comparison ([`Memo`]); load generators repeat themselves. A new one
//! that is complete in the piece is parsed in place. Only a head that is split between pieces is
//! copied together, up to [`HEAD_BYTES_MAX`]. Bodies are skipped and never kept.

use crate::chunks::Chunks;
use crate::head::{self, Framing, Head, Pause};
use crate::refusal::{HEAD_BYTES_MAX, Refusal};
use crate::sys::find_byte;

/// Longest head worth remembering.
const MEMO_BYTES_MAX: usize = 4096;
/// Memory for split heads that a connection keeps between requests.
const HELD_BYTES_KEPT: usize = 4096;

/// What was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A head that waits for `100 Continue` before its body.
    Pause,
    /// A whole request, its body included.
    Request {
        /// What its head says.
        head: Head,
        /// Its length on the wire, body included.
        bytes: u64,
    },
}

/// The last head that a thread has read, and its meaning.
#[derive(Debug, Default)]
pub struct Memo {
    bytes: Vec<u8>,
    head: Option<Head>,
}

impl Memo {
    /// The meaning of the head at the start of `input`, if it is the same as the last one. A head
    /// ends with its first empty line, so equal bytes are the whole head.
    #[inline]
    fn recall(&self, input: &[u8]) -> Option<(Head, usize)> {
        let head = self.head?;
        input.starts_with(&self.bytes).then_some((head, self.bytes.len()))
    }

    fn learn(&mut self, bytes: &[u8], head: Head) {
        if bytes.len() <= MEMO_BYTES_MAX {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.head = Some(head);
        }
    }
}

/// Reads the requests of one connection.
#[derive(Debug, Default)]
pub struct Parser {
    stage: Stage,
    /// The start of a head whose end has not arrived.
    held: Vec<u8>,
    /// Bytes of the request under way.
    bytes: u64,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Head,
    Body {
        head: Head,
        remaining: u64,
    },
    Chunked {
        head: Head,
        chunks: Chunks,
    },
    Refused,
}

impl Parser {
    /// Consumes bytes from the front of `input` until something is complete or nothing is left.
    pub fn receive(
        &mut self,
        input: &mut &[u8],
        memo: &mut Memo,
    ) -> Result<Option<Event>, Refusal> {
        let before = input.len();
        let result = self.step(input, memo);
        self.bytes += (before - input.len()) as u64;
        match result {
            Ok(Step::Starved) => Ok(None),
            Ok(Step::Paused) => Ok(Some(Event::Pause)),
            Ok(Step::Complete(head)) => {
                let bytes = std::mem::take(&mut self.bytes);
                Ok(Some(Event::Request { head, bytes }))
            }
            Err(refusal) => {
                self.stage = Stage::Refused;
                self.held = Vec::new();
                Err(refusal)
            }
        }
    }

    /// Forgets the connection, keeps the memory.
    pub fn clear(&mut self) {
        self.stage = Stage::Head;
        self.release_held();
        self.bytes = 0;
    }

    #[inline]
    fn step(&mut self, input: &mut &[u8], memo: &mut Memo) -> Result<Step, Refusal> {
        match &mut self.stage {
            Stage::Head => {
                if self.held.is_empty()
                    && let Some((head, length)) = memo.recall(input)
                {
                    *input = &input[length..];
                    return self.begin(head, input);
                }
                self.step_head(input, memo)
            }
            Stage::Body { .. } | Stage::Chunked { .. } => self.step_body(input),
            Stage::Refused => {
                *input = &[];
                Ok(Step::Starved)
            }
        }
    }

    fn step_head(&mut self, input: &mut &[u8], memo: &mut Memo) -> Result<Step, Refusal> {
        self.skip_empty_lines(input);
        if input.is_empty() {
            return Ok(Step::Starved);
        }
        if !self.held.is_empty() {
            return self.step_split_head(input, memo);
        }
        let Some(length) = find_end(input, 0)? else {
            self.held.extend_from_slice(&input[..input.len().min(HEAD_BYTES_MAX)]);
            *input = &[];
            return self.check_held();
        };
        let (bytes, rest) = input.split_at(length);
        *input = rest;
        let head = head::read(bytes)?;
        memo.learn(bytes, head);
        self.begin(head, input)
    }

    /// Continues a head of which a part is held.
    fn step_split_head(&mut self, input: &mut &[u8], memo: &mut Memo) -> Result<Step, Refusal> {
        let held = self.held.len();
        let room = HEAD_BYTES_MAX - held;
        self.held.extend_from_slice(&input[..input.len().min(room)]);
        let Some(length) = find_end(&self.held, held)? else {
            *input = &[];
            return self.check_held();
        };
        *input = &input[length - held..];
        let head = head::read(&self.held[..length])?;
        memo.learn(&self.held[..length], head);
        self.release_held();
        self.begin(head, input)
    }

    /// Refuses a held part that cannot become a head.
    fn check_held(&self) -> Result<Step, Refusal> {
        // A lone carriage return may still become an empty line.
        if self.held != b"\r" {
            head::check_method(&self.held)?;
        }
        if self.held.len() >= HEAD_BYTES_MAX {
            return Err(Refusal::HeadTooLong);
        }
        Ok(Step::Starved)
    }

    /// Empty lines before a request are skipped (RFC 9112 section 2.2).
    fn skip_empty_lines(&mut self, input: &mut &[u8]) {
        if self.held == b"\r" && input.first() == Some(&b'\n') {
            self.held.clear();
            *input = &input[1..];
        }
        while self.held.is_empty()
            && let Some(rest) = input.strip_prefix(b"\r\n")
        {
            *input = rest;
        }
    }

    fn release_held(&mut self) {
        self.held.clear();
        self.held.shrink_to(HELD_BYTES_KEPT);
    }

    #[inline]
    fn begin(&mut self, head: Head, input: &mut &[u8]) -> Result<Step, Refusal> {
        if head.framing == Framing::Length(0) {
            return Ok(Step::Complete(head));
        }
        self.begin_body(head, input)
    }

    fn begin_body(&mut self, head: Head, input: &mut &[u8]) -> Result<Step, Refusal> {
        self.stage = match head.framing {
            Framing::Length(remaining) => Stage::Body { head, remaining },
            Framing::Chunked => Stage::Chunked { head, chunks: Chunks::default() },
        };
        match head.pause {
            Pause::ForContinue => Ok(Step::Paused),
            Pause::None => self.step_body(input),
        }
    }

    fn step_body(&mut self, input: &mut &[u8]) -> Result<Step, Refusal> {
        let (head, complete) = match &mut self.stage {
            Stage::Body { head, remaining } => {
                let taken = (*remaining).min(input.len() as u64);
                *remaining -= taken;
                *input = &input[taken as usize..];
                (*head, *remaining == 0)
            }
            Stage::Chunked { head, chunks } => (*head, chunks.receive(input)?),
            Stage::Head | Stage::Refused => return Ok(Step::Starved),
        };
        if !complete {
            return Ok(Step::Starved);
        }
        self.stage = Stage::Head;
        Ok(Step::Complete(head))
    }
}

/// Where a step of the parser stopped.
enum Step {
    Starved,
    Paused,
    Complete(Head),
}

/// The length of the head at the start of `bytes`, if its end is there; bytes before `from` were
/// already searched. It looks no further than the longest head, so that the result does not depend
/// on how much has arrived.
fn find_end(bytes: &[u8], from: usize) -> Result<Option<usize>, Refusal> {
    let bytes = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    let mut from = from;
    while let Some(feed) = find_byte(b'\n', &bytes[from..]) {
        let feed = from + feed;
        let line = &bytes[..=feed];
        if !line.ends_with(b"\r\n") {
            return Err(Refusal::Malformed);
        }
        if line.ends_with(b"\r\n\r\n") {
            return Ok(Some(feed + 1));
        }
        from = feed + 1;
    }
    Ok(None)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
