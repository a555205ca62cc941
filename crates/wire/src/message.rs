//! Looks for fields in messages of gRPC while they arrive in pieces.
//!
//! No part of a message is kept: what is remembered from one piece to the next is where in the
//! message the next byte lies, and which of the fields have had the value asked for. A field that
//! comes twice has the later value, as in any reader of protobuf.
//!
//! Hot: runs for every piece of every message whose fields are checked.

use model::field::{DEPTH_MAX, FIELDS_MAX, Field, FieldValue};

/// Bytes before a message: whether it is compressed, and its length.
const PREFIX_BYTES: u8 = 5;
/// Bits of a number in as many bytes as it needs, at most.
const VARINT_BITS: u8 = 64;
/// The node of the message itself.
const ROOT: u16 = 0;

/// The fields that each message must have, prepared.
#[derive(Debug)]
pub struct Wanted {
    nodes: Vec<Node>,
    /// Which fields a message without any has, and which it must have.
    defaults: u64,
    all: u64,
}

/// A field that is asked for, or that such a field lies in.
#[derive(Debug)]
struct Node {
    /// The field that it lies in, and its number there.
    within: (u16, u32),
    /// Its bit, and the value that it must have.
    asked: Option<(u64, FieldValue)>,
    /// It is a message that is looked into.
    is_open: bool,
}

/// How far the messages of one response have been read.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// Bytes of the prefix so far; all of them inside a message.
    prefixed: u8,
    /// Depth of the message that the next byte is in.
    depth: u8,
    /// Bytes of the message so far.
    at: u32,
    /// The messages that the next byte is in: which, and where each ends.
    inside: [(u16, u32); DEPTH_MAX + 1],
    step: Step,
    /// The number that is arriving, and how many of its bits are known.
    number: u64,
    bits: u8,
    /// Which fields have their value so far.
    met: u64,
    is_wrong: bool,
}

/// What the next byte is part of.
#[derive(Debug, Clone, Copy, Default)]
enum Step {
    /// Number and kind of a field.
    #[default]
    Key,
    /// A number in as many bytes as it needs.
    Varint(Option<u16>),
    /// A number of 32 or 64 bits.
    Fixed(Option<u16>, u8),
    /// The length of what follows.
    Length(Option<u16>),
    /// A text that is compared: which, and how much of it was right.
    Text(u16, u32),
    /// Bytes that do not matter.
    Skip(u32),
}

impl Wanted {
    /// Prepares fields.
    pub fn new(fields: &[Field]) -> Self {
        assert!(fields.len() <= FIELDS_MAX, "each field has a bit");
        let root = Node { within: (ROOT, 0), asked: None, is_open: true };
        let mut wanted = Self { nodes: vec![root], defaults: 0, all: 0 };
        for (nth, field) in fields.iter().enumerate() {
            assert!((1..=DEPTH_MAX).contains(&field.path.len()), "a field lies somewhere");
            let bit = 1 << nth;
            wanted.all |= bit;
            wanted.defaults |= if field.is_default { bit } else { 0 };
            let node = field.path.iter().fold(ROOT, |within, number| {
                wanted.nodes[usize::from(within)].is_open = true;
                wanted.place(within, *number)
            });
            let node = &mut wanted.nodes[usize::from(node)];
            node.is_open |= field.value == FieldValue::Message;
            node.asked = Some((bit, field.value.clone()));
        }
        wanted
    }

    /// The node of a field, which is made if there is none.
    fn place(&mut self, within: u16, number: u32) -> u16 {
        self.find(within, number).unwrap_or_else(|| {
            self.nodes.push(Node { within: (within, number), asked: None, is_open: false });
            (self.nodes.len() - 1) as u16
        })
    }

    #[inline]
    fn find(&self, within: u16, number: u32) -> Option<u16> {
        let place = self.nodes[1..].iter().position(|node| node.within == (within, number))?;
        Some(place as u16 + 1)
    }

    #[inline]
    fn asked(&self, node: Option<u16>) -> Option<&(u64, FieldValue)> {
        self.nodes[usize::from(node?)].asked.as_ref()
    }

    /// The text that a field must be.
    #[inline]
    fn text(&self, node: Option<u16>) -> Option<&[u8]> {
        match self.asked(node) {
            Some((_, FieldValue::Bytes(text))) => Some(text),
            _ => None,
        }
    }
}

impl Reading {
    /// Whether all messages so far had all fields, and the last one is whole.
    pub fn holds(&self) -> bool {
        !self.is_wrong && self.prefixed == 0
    }

    /// Continues with a piece of the messages and their prefixes.
    pub fn read(&mut self, wanted: &Wanted, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() && !self.is_wrong {
            let taken = if self.prefixed < PREFIX_BYTES {
                self.prefix(wanted, rest[0]);
                1
            } else {
                self.step(wanted, rest)
            };
            rest = &rest[taken..];
        }
    }

    fn prefix(&mut self, wanted: &Wanted, byte: u8) {
        // What is compressed cannot be read; we do not ask for it.
        self.is_wrong = self.prefixed == 0 && byte != 0;
        self.number = if self.prefixed == 0 { 0 } else { self.number << 8 | u64::from(byte) };
        self.prefixed += 1;
        if self.prefixed == PREFIX_BYTES {
            self.inside[0] = (ROOT, self.number as u32);
            (self.depth, self.at, self.met) = (0, 0, wanted.defaults);
            self.next(wanted);
        }
    }

    /// Consumes some bytes of a message; returns how many.
    fn step(&mut self, wanted: &Wanted, rest: &[u8]) -> usize {
        match self.step {
            Step::Key | Step::Varint(_) | Step::Length(_) => {
                self.at += 1;
                self.varint(wanted, rest[0]);
                1
            }
            Step::Fixed(node, bits) => {
                self.at += 1;
                self.fixed(wanted, (node, bits), rest[0]);
                1
            }
            Step::Text(node, right) => {
                let text = &wanted.text(Some(node)).unwrap_or_default()[right as usize..];
                let taken = rest.len().min(text.len());
                self.at += taken as u32;
                let left = (text.len() - taken) as u32;
                let is_right = rest[..taken] == text[..taken];
                self.step = Step::Text(node, right + taken as u32);
                if !is_right || left == 0 {
                    self.meet(wanted, Some(node), |_| is_right);
                    self.skip(wanted, left);
                }
                taken
            }
            Step::Skip(left) => {
                let taken = rest.len().min(left as usize);
                self.at += taken as u32;
                self.skip(wanted, left - taken as u32);
                taken
            }
        }
    }

    /// One more byte of a number in as many bytes as it needs.
    fn varint(&mut self, wanted: &Wanted, byte: u8) {
        if self.bits < VARINT_BITS {
            self.number |= u64::from(byte & 0x7f) << self.bits;
        }
        self.bits += 7;
        if byte & 0x80 != 0 {
            self.is_wrong = self.bits >= VARINT_BITS;
            return;
        }
        let number = self.number;
        match self.step {
            Step::Varint(node) => {
                self.meet(wanted, node, |value| *value == FieldValue::Varint(number));
                self.next(wanted);
            }
            Step::Length(node) => self.enter(wanted, node, number),
            _ => self.key(wanted, number),
        }
    }

    /// One more byte of a number of fixed length.
    fn fixed(&mut self, wanted: &Wanted, (node, bits): (Option<u16>, u8), byte: u8) {
        self.number |= u64::from(byte) << self.bits;
        self.bits += 8;
        if self.bits == bits {
            let number = self.number;
            self.meet(wanted, node, |value| match *value {
                FieldValue::Fixed32(right) => bits == 32 && u64::from(right) == number,
                FieldValue::Fixed64(right) => bits == 64 && right == number,
                _ => false,
            });
            self.next(wanted);
        }
    }

    /// A field begins.
    fn key(&mut self, wanted: &Wanted, key: u64) {
        let (within, _) = self.inside[usize::from(self.depth)];
        let node = wanted.find(within, (key >> 3) as u32);
        match key & 7 {
            _ if key > u64::from(u32::MAX) => self.is_wrong = true,
            0 => self.begin(Step::Varint(node)),
            1 => self.begin(Step::Fixed(node, 64)),
            2 => self.begin(Step::Length(node)),
            5 => self.begin(Step::Fixed(node, 32)),
            _ => self.is_wrong = true,
        }
    }

    /// The length of a field is known.
    fn enter(&mut self, wanted: &Wanted, node: Option<u16>, length: u64) {
        let (_, end) = self.inside[usize::from(self.depth)];
        if length > u64::from(end.saturating_sub(self.at)) {
            self.is_wrong = true;
            return;
        }
        let length = length as u32;
        match node {
            Some(node) if wanted.nodes[usize::from(node)].is_open => {
                self.meet(wanted, Some(node), |value| *value == FieldValue::Message);
                self.depth += 1;
                self.inside[usize::from(self.depth)] = (node, self.at + length);
                self.next(wanted);
            }
            Some(place) if wanted.text(node).is_some_and(|text| text.len() == length as usize) => {
                self.meet(wanted, node, |_| true);
                self.begin(Step::Text(place, 0));
                if length == 0 {
                    self.next(wanted);
                }
            }
            _ => {
                self.meet(wanted, node, |_| false);
                self.skip(wanted, length);
            }
        }
    }

    /// Skips so many bytes, perhaps none.
    fn skip(&mut self, wanted: &Wanted, left: u32) {
        self.step = Step::Skip(left);
        if left == 0 {
            self.next(wanted);
        }
    }

    fn begin(&mut self, step: Step) {
        (self.step, self.number, self.bits) = (step, 0, 0);
    }

    /// A field is over, and perhaps messages that it lies in.
    fn next(&mut self, wanted: &Wanted) {
        self.begin(Step::Key);
        loop {
            let (_, end) = self.inside[usize::from(self.depth)];
            if self.at < end {
                return;
            }
            // It reaches beyond its message.
            self.is_wrong |= self.at > end;
            if self.depth == 0 {
                self.is_wrong |= self.met != wanted.all;
                self.prefixed = 0;
                return;
            }
            self.depth -= 1;
        }
    }

    /// A field that may be asked for has a value.
    fn meet(
        &mut self,
        wanted: &Wanted,
        node: Option<u16>,
        is_right: impl FnOnce(&FieldValue) -> bool,
    ) {
        if let Some((bit, value)) = wanted.asked(node) {
            if is_right(value) {
                self.met |= bit;
            } else {
                self.met &= !bit;
            }
        }
    }
}
