//! Header blocks mean what another decoder of HPACK says, however they are encoded and split.

use arbitrary::{Result, Unstructured};
use hpack_patched::Decoder;
use model::load::Request;
use wire::http2::{Ends, Form, Http2, Said, Scheme, say};
use wire::response::{Expect, ProtocolError};
use wire::session::Session;
use wire::tape::Tape;

/// Blocks on one connection.
const BLOCKS_MAX: usize = 40;
/// Bytes of the head of a frame.
const HEAD_BYTES: usize = 9;
/// Names besides those of the static table: what matters, what is refused, and what is neither.
const NAMES: [&str; 10] = [
    "x-a",
    "x-trace",
    "etag",
    "a-name-that-is-longer-than-any-that-matters",
    "grpc-status",
    "connection",
    ":path",
    "Capital",
    "bad name",
    "",
];
const VALUES: [&str; 8] =
    ["", "200", "5", "0123456789", "a value with spaces", "5x", "none\r\nof: this", "\u{e9}\u{e8}"];

/// Appends an integer after a pattern of so many bits (RFC 7541 section 5.1). It is not that of our
/// own encoder, so that no fault of that is on both sides.
fn put_integer(value: usize, pattern: u8, prefix_bits: u32, block: &mut Vec<u8>) {
    let mask = (1 << prefix_bits) - 1;
    if value < mask {
        return block.push(pattern | value as u8);
    }
    block.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        block.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    block.push(rest as u8);
}

/// Appends a string: plain, by the Huffman code, or any bytes in its place.
fn put_string(text: &str, draws: &mut Unstructured<'_>, block: &mut Vec<u8>) -> Result<()> {
    match draws.int_in_range(0..=7)? {
        0 => {
            let bytes = draws.bytes(3)?;
            put_integer(bytes.len(), 0x80, 7, block);
            block.extend_from_slice(bytes);
        }
        1..=3 => {
            put_integer(text.len(), 0, 7, block);
            block.extend_from_slice(text.as_bytes());
        }
        _ => {
            // As our own servers of tests write it: behind a name of one byte.
            let (fields, form) = (&[("x", text)][..], Form::Whole);
            let mut frame = Vec::new();
            let head = Said::Head { stream: 1, status: None, fields, ends: Ends::Yes, form };
            say(&head, &mut frame);
            block.extend_from_slice(&frame[HEAD_BYTES + 3..]);
        }
    }
    Ok(())
}

/// The index of an entry. Theirs has a wrong name at 15 of the static table, `accept-`.
fn index(draws: &mut Unstructured<'_>, most: usize) -> Result<usize> {
    draws.int_in_range(1..=most).map(|index| if index == 15 { 16 } else { index })
}

/// Appends one field in any form.
fn put_field(draws: &mut Unstructured<'_>, block: &mut Vec<u8>) -> Result<()> {
    if draws.ratio(1, 3)? {
        // Of the static table, or of that of the connection, which may have no such entry.
        let most = if draws.ratio(3, 4)? { 70 } else { 130 };
        put_integer(index(draws, most)?, 0x80, 7, block);
        return Ok(());
    }
    let (pattern, bits) = *draws.choose(&[(0x40, 6), (0x40, 6), (0, 4), (0x10, 4)])?;
    let is_named = draws.ratio(1, 2)?;
    put_integer(if is_named { index(draws, 75)? } else { 0 }, pattern, bits, block);
    if !is_named {
        let name = *draws.choose(&NAMES)?;
        put_string(name, draws, block)?;
    }
    let value = draws.choose(&VALUES)?;
    let times = if draws.ratio(1, 8)? { draws.int_in_range(1..=200)? } else { 1 };
    put_string(&value.repeat(times), draws, block)
}

/// A block, which most often is one of a response.
fn block(draws: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut block = Vec::new();
    if draws.ratio(1, 5)? {
        put_integer(draws.int_in_range(0..=4096)?, 0x20, 5, &mut block);
    }
    if draws.ratio(9, 10)? {
        block.push(0x80 | draws.int_in_range(8..=14)?);
    }
    for _ in 0..draws.int_in_range(0..=4)? {
        put_field(draws, &mut block)?;
    }
    if draws.ratio(1, 30)? {
        block.pop();
    }
    Ok(block)
}

/// Status and bytes of names and values of a response to HEAD with these fields, or what is wrong
/// with it (RFC 9113 sections 8.2 and 8.3).
fn expected(fields: &[(Vec<u8>, Vec<u8>)]) -> std::result::Result<(u16, u64), ProtocolError> {
    let (mut status, mut length, mut has_regular, mut is_bad) = (None, None, false, false);
    let number = |value: &[u8]| {
        let is_plain =
            !value.is_empty() && value.len() <= 24 && value.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(value).ok().filter(|_| is_plain)?.parse::<u64>().ok()
    };
    for (name, value) in fields {
        is_bad |= value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'));
        match name.as_slice() {
            b":status" => {
                let code = number(value).filter(|code| value.len() == 3 && *code >= 100);
                is_bad |= has_regular || status.is_some() || code.is_none();
                status = code;
                continue;
            }
            b"content-length" => {
                let other = length.replace(number(value));
                is_bad |= length == Some(None) || other.is_some_and(|other| Some(other) != length);
            }
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" | b"" => is_bad = true,
            _ => is_bad |= !name.iter().all(|byte| is_of_name(*byte)),
        }
        has_regular = true;
    }
    match status {
        _ if is_bad => Err(ProtocolError::BadHeader),
        None | Some(101) => Err(ProtocolError::BadStatus),
        Some(..200) => Err(ProtocolError::BadHeader),
        Some(status) => {
            let bytes = fields.iter().map(|(name, value)| (name.len() + value.len()) as u64);
            Ok((status as u16, bytes.sum()))
        }
    }
}

/// A letter, but no capital, or another character of a token (RFC 9110 section 5.6.2).
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A connection on which one request after the other is answered.
struct Client {
    session: Http2,
    tape: Tape,
    stream: u32,
}

impl Client {
    fn new() -> Self {
        let request = Request {
            method: "HEAD".to_string(),
            path: "/".to_string(),
            host: "claims".to_string(),
            ..Request::default()
        };
        let tape = Tape::http2(&[request], Scheme::Http).expect("a plain request");
        let (mut session, mut words) = (Http2::for_depth(1), Vec::new());
        session.begin(&mut words);
        words.clear();
        say(&Said::Settings { streams: None, window: None }, &mut words);
        session.addressee(&mut &words[..]).expect("settings");
        Self { session, tape, stream: 1 }
    }

    /// The response with this header block, which comes in frames and reads of so many bytes.
    fn hear(
        &mut self,
        block: &[u8],
        (frame_max, read_max): (usize, usize),
    ) -> std::result::Result<(u16, u64), ProtocolError> {
        self.session.write(self.tape.bytes(), self.tape.span(0, 1), &mut Vec::new());
        let mut words = Vec::new();
        let pieces: Vec<_> = match block {
            [] => vec![block],
            _ => block.chunks(frame_max).collect(),
        };
        for (nth, piece) in pieces.iter().enumerate() {
            let (kind, ends) = if nth == 0 { (1, 1) } else { (9, 0) };
            let last = if nth + 1 == pieces.len() { 4 } else { 0 };
            words.extend_from_slice(&(piece.len() as u32).to_be_bytes()[1..]);
            words.extend_from_slice(&[kind, ends | last]);
            words.extend_from_slice(&self.stream.to_be_bytes());
            words.extend_from_slice(piece);
        }
        self.stream += 2;
        let mut outcome = None;
        for mut read in words.chunks(read_max) {
            while self.session.addressee(&mut read)?.is_some() {
                let heard = self.session.receive(&mut read, Expect::HeadOnly, &mut (), &mut ())?;
                outcome = outcome.or(heard);
            }
        }
        let response = outcome.and_then(|outcome| outcome.response()).expect("it is whole");
        Ok((response.status, self.session.take_parts().fields))
    }
}

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    let mut draws = Unstructured::new(bytes);
    let (mut ours, mut theirs) = (Client::new(), Decoder::new());
    for _ in 0..BLOCKS_MAX {
        if draws.is_empty() {
            return;
        }
        let Ok(block) = block(&mut draws) else { return };
        let frame_max = draws.int_in_range(1..=200).unwrap_or(1) * 80;
        let read_max = draws.int_in_range(1..=400).unwrap_or(1);
        let heard = ours.hear(&block, (frame_max, read_max));
        let meant = match theirs.decode(&block) {
            Ok(fields) => expected(&fields),
            Err(_) => Err(ProtocolError::BadHeaderBlock),
        };
        assert_eq!(heard, meant, "{block:02x?}");
        if meant.is_err() {
            return;
        }
    }
}
