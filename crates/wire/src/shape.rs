//! Heads seen before, so that the next similar one needs no parsing.
//!
//! A shape is the bytes of one head, of which some may differ in the next: the digits of
//! Content-Length, and the values of headers that do not affect framing (Date, request ids).
//! Everything else, the status line included, must be equal byte for byte, and the parts that may
//! differ must contain no line end. So a recognised head means exactly what its bytes would mean to
//! the parser that read it the first time; nothing is assumed.
//!
//! Hot: runs for every response.

use crate::head::{Field, Framing, is_value_byte};
use crate::response::Expect;
use std::ops::Range;

/// Shapes kept at once: enough for a few routes and statuses. Heads of other shapes are parsed.
const SHAPES_MAX: usize = 4;
/// Heads that are learned from before learning stops: a server whose heads never repeat must not be
/// slowed down by it.
const LESSONS_MAX: u32 = 64;
/// Longest head worth remembering, bytes.
const SHAPE_BYTES_MAX: usize = 2048;

/// What a head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadFacts {
    /// Its length.
    pub bytes: usize,
    /// Status code.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// Whether the connection ends after the response.
    pub closes: bool,
    /// Bytes of the names and values of its fields, which are as long in all heads of a shape.
    pub fields: u32,
}

/// The shapes learned on one route.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    shapes: Vec<Shape>,
    lessons: u32,
}

#[derive(Debug, Clone)]
struct Shape {
    head: Vec<u8>,
    /// Parts that must be equal.
    fixed: Vec<Range<usize>>,
    /// Parts that may differ.
    free: Vec<Range<usize>>,
    /// The digits of Content-Length.
    length: Option<Range<usize>>,
    expect: Expect,
    seen: HeadFacts,
}

impl Shapes {
    /// No shapes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the head at the front of `input` says, if it has a known shape and is complete.
    #[inline]
    pub(crate) fn recognise(&mut self, input: &[u8], expect: Expect) -> Option<HeadFacts> {
        let first = self.shapes.first_mut()?;
        if let Some(seen) = first.recognise(input, expect) {
            return Some(seen);
        }
        self.recognise_rarer(input, expect)
    }

    #[inline(never)]
    fn recognise_rarer(&mut self, input: &[u8], expect: Expect) -> Option<HeadFacts> {
        for index in 1..self.shapes.len() {
            if let Some(seen) = self.shapes[index].recognise(input, expect) {
                self.shapes.swap(index, index - 1);
                return Some(seen);
            }
        }
        None
    }

    /// Remembers a head that was parsed whole.
    // Cold: at most LESSONS_MAX times per route.
    pub(crate) fn learn(&mut self, head: &[u8], expect: Expect, seen: HeadFacts) {
        if self.lessons >= LESSONS_MAX || head.len() > SHAPE_BYTES_MAX {
            return;
        }
        self.lessons += 1;
        let Some(lines) = Lines::of(head) else { return };
        for shape in &mut self.shapes {
            let same_kind = shape.expect == expect && shape.seen.status == seen.status;
            if same_kind && shape.loosen(head, &lines) {
                return;
            }
        }
        self.shapes.truncate(SHAPES_MAX - 1);
        self.shapes.insert(0, Shape::new(head, &lines, expect, seen));
    }
}

/// The value ranges of a head's header lines.
struct Lines {
    /// Values that do not affect framing.
    other: Vec<Range<usize>>,
    /// For each of `other`, whether it is the value of Date, which changes by nature.
    is_date: Vec<bool>,
    length: Option<Range<usize>>,
}

impl Lines {
    // Cold: learning.
    fn of(head: &[u8]) -> Option<Self> {
        let mut lines = Self { other: Vec::new(), is_date: Vec::new(), length: None };
        let mut at = head.iter().position(|&byte| byte == b'\n')? + 1;
        while at < head.len() {
            let end = at + head[at..].iter().position(|&byte| byte == b'\n')?;
            let line = &head[at..end];
            // A line that continues the one before it belongs to its header.
            if matches!(line, [b' ' | b'\t', ..]) {
                return None;
            }
            if let Some(colon) = line.iter().position(|&byte| byte == b':') {
                let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
                let spaces = line[colon + 1..].iter().take_while(|byte| is_space(byte)).count();
                let tail = line.iter().rev().take_while(|&&byte| byte == b'\r' || is_space(&byte));
                let begin = at + colon + 1 + spaces;
                let value = begin..(end - tail.count()).max(begin);
                let name = line[..colon].trim_ascii_end().to_ascii_lowercase();
                match Field::of(&name) {
                    // A second Content-Length line stays fixed, and with it the first.
                    Field::ContentLength if lines.length.is_some() => return None,
                    Field::ContentLength => lines.length = Some(value),
                    Field::Other => {
                        lines.other.push(value);
                        lines.is_date.push(name == b"date");
                    }
                    Field::TransferEncoding | Field::Connection => {}
                }
            }
            at = end + 1;
        }
        Some(lines)
    }
}

impl Shape {
    // Cold: learning.
    fn new(head: &[u8], lines: &Lines, expect: Expect, seen: HeadFacts) -> Self {
        let dates = lines.other.iter().zip(&lines.is_date).filter(|(_, is_date)| **is_date);
        let mut shape = Self {
            head: head.to_vec(),
            fixed: Vec::new(),
            free: dates.map(|(value, _)| value.clone()).collect(),
            length: lines.length.clone(),
            expect,
            seen,
        };
        shape.fix_the_rest();
        shape
    }

    /// Marks the values in which `head` differs as free, if it differs in nothing else.
    // Cold: learning.
    fn loosen(&mut self, head: &[u8], lines: &Lines) -> bool {
        if head.len() != self.head.len() || lines.length.is_some() != self.length.is_some() {
            return false;
        }
        let known = |at: usize| {
            let within = |range: &Range<usize>| range.contains(&at);
            self.free.iter().any(within) || self.length.as_ref().is_some_and(within)
        };
        let mut freed = self.free.clone();
        for at in (0..head.len()).filter(|&at| head[at] != self.head[at] && !known(at)) {
            let Some(value) = lines.other.iter().find(|value| value.contains(&at)) else {
                return false;
            };
            // The value must end at the same place in both heads.
            if self.head[value.clone()].iter().any(|&byte| !is_value_byte(byte)) {
                return false;
            }
            if !freed.contains(value) {
                freed.push(value.clone());
            }
        }
        self.free = freed;
        self.fix_the_rest();
        true
    }

    // Cold: learning.
    fn fix_the_rest(&mut self) {
        let mut open: Vec<_> = self.free.iter().chain(&self.length).cloned().collect();
        open.sort_by_key(|range| range.start);
        self.fixed.clear();
        let mut at = 0;
        for range in open {
            self.fixed.push(at..range.start);
            at = range.end;
        }
        self.fixed.push(at..self.head.len());
        self.fixed.retain(|range| !range.is_empty());
    }

    /// Compares whole heads first: within a second, a server's heads are mostly equal to the last
    /// byte.
    #[inline]
    fn recognise(&mut self, input: &[u8], expect: Expect) -> Option<HeadFacts> {
        if input.len() < self.head.len() || expect != self.expect {
            return None;
        }
        let input = &input[..self.head.len()];
        if is_same(input, &self.head) {
            return Some(self.seen);
        }
        self.recognise_parts(input)
    }

    /// Compares the parts that must be equal, checks those that may differ, and remembers the head.
    #[inline(never)]
    fn recognise_parts(&mut self, input: &[u8]) -> Option<HeadFacts> {
        for range in &self.fixed {
            if !is_same(&input[range.start..range.end], &self.head[range.start..range.end]) {
                return None;
            }
        }
        for range in &self.free {
            let value = &input[range.start..range.end];
            // Without early exit, so that it is a few vector instructions.
            if value.iter().fold(false, |bad, &byte| bad | !is_value_byte(byte)) {
                return None;
            }
        }
        if let Some(range) = &self.length {
            let length = parse_digits(&input[range.start..range.end])?;
            // Transfer-Encoding overrides it, and some responses have no body.
            if let Framing::Length(_) = self.seen.framing
                && has_body(self.expect, self.seen.status)
            {
                self.seen.framing = Framing::Length(length);
            }
        }
        self.head.copy_from_slice(input);
        Some(self.seen)
    }
}

/// Whether two texts are the same. `==` calls memcmp of the C library, and that of musl, with which
/// releases are built, compares one byte at a time.
#[inline]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    const WIDTH: usize = 32;
    if one.len() != other.len() {
        return false;
    }
    match (one.last_chunk::<WIDTH>(), other.last_chunk::<WIDTH>()) {
        // The last chunk overlaps with the one before, so that no remainder is left.
        (Some(end), Some(other_end)) => {
            let chunks = one.as_chunks::<WIDTH>().0.iter().zip(other.as_chunks::<WIDTH>().0);
            chunks.fold(end == other_end, |same, (one, other)| same & (one == other))
        }
        _ => one.iter().zip(other).all(|(one, other)| one == other),
    }
}

/// Whether a head's Content-Length is followed by that many bytes.
fn has_body(expect: Expect, status: u16) -> bool {
    expect == Expect::Body && !matches!(status, 204 | 304)
}

/// The value of up to 19 digits, which cannot overflow.
#[inline]
fn parse_digits(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value = 0u64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(date: &str, length: &str, id: &str) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\nDate: {date}\r\nX-Id: {id}\r\nContent-Length: {length}\r\n\r\n")
            .into_bytes()
    }

    #[test]
    fn texts_are_the_same_when_every_byte_is() {
        let text: Vec<u8> = (0..130).collect();
        for length in 0..text.len() {
            let one = &text[..length];
            assert!(is_same(one, one));
            assert!(!is_same(one, &text[..=length]), "{length}");
            for at in 0..length {
                let mut other = one.to_vec();
                other[at] ^= 0x80;
                assert!(!is_same(one, &other), "{length} {at}");
            }
        }
    }

    fn seen(head: &[u8], length: u64) -> HeadFacts {
        HeadFacts {
            bytes: head.len(),
            status: 200,
            framing: Framing::Length(length),
            closes: false,
            fields: 0,
        }
    }

    fn taught(lessons: &[(&[u8], u64)]) -> Shapes {
        let mut shapes = Shapes::new();
        for (head, length) in lessons {
            shapes.learn(head, Expect::Body, seen(head, *length));
        }
        shapes
    }

    #[test]
    fn date_and_length_may_differ_at_once() {
        let first = head("Mon", "4520", "aa");
        let mut shapes = taught(&[(&first, 4520)]);
        let next = head("Tue", "4711", "aa");
        assert_eq!(shapes.recognise(&next, Expect::Body), Some(seen(&next, 4711)));
        for strange in [
            head("Tue", "471", "aa"),
            head("Tue", "47 1", "aa"),
            head("Tue", "4711", "ab"),
            head("T\r\n", "4711", "aa"),
            next[..next.len() - 1].to_vec(),
        ] {
            assert_eq!(shapes.recognise(&strange, Expect::Body), None);
        }
        assert_eq!(shapes.recognise(&next, Expect::HeadOnly), None);
    }

    #[test]
    fn a_value_seen_to_vary_becomes_free_and_still_holds_no_line_end() {
        let (first, second) = (head("Mon", "10", "aaaaaaaa"), head("Mon", "10", "bbbbbbbb"));
        let mut shapes = taught(&[(&first, 10), (&second, 10)]);
        let third = head("Tue", "12", "cccccccc");
        assert_eq!(shapes.recognise(&third, Expect::Body), Some(seen(&third, 12)));
        let smuggled = head("Tue", "12", "c\r\n\r\nccc");
        assert_eq!(smuggled.len(), third.len());
        assert_eq!(shapes.recognise(&smuggled, Expect::Body), None);
    }

    #[test]
    fn names_and_status_never_become_free() {
        let first = head("Mon", "10", "aa");
        let renamed = String::from_utf8(first.clone()).unwrap().replace("X-Id", "X-Ix");
        let shapes = taught(&[(&first, 10), (renamed.as_bytes(), 10)]);
        assert_eq!(shapes.shapes.len(), 2, "another name is another shape");
    }

    #[test]
    fn a_head_response_keeps_its_empty_body() {
        let first = head("Mon", "4520", "aa");
        let mut shapes = Shapes::new();
        shapes.learn(&first, Expect::HeadOnly, seen(&first, 0));
        let next = head("Tue", "4711", "aa");
        assert_eq!(shapes.recognise(&next, Expect::HeadOnly), Some(seen(&next, 0)));
    }

    #[test]
    fn learning_stops() {
        let mut shapes = Shapes::new();
        for length in 1..200 {
            let head = head("Mon", "10", &"x".repeat(length));
            shapes.learn(&head, Expect::Body, seen(&head, 10));
        }
        assert_eq!((shapes.shapes.len(), shapes.lessons), (SHAPES_MAX, LESSONS_MAX));
    }
}
