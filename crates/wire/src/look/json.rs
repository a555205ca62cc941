//! Values in a body of JSON (RFC 8259), found while the body arrives in pieces.
//!
//! Several paths are followed at once. Of the body only the values at their ends are kept, up to a
//! bound; from one piece to the next it is remembered which containers the next byte lies in, and
//! how far each path leads into them. Where an object has a name twice the later value counts, as
//! in most readers.
//!
//! Hot: runs for every piece of every body in which values are looked for.

use memchr::{memchr, memchr2};
use model::flow::Key;

/// Most containers inside each other.
const DEPTH_MAX: usize = 128;
/// Longest name that can be part of a path, bytes.
const NAME_MAX: usize = 256;
/// Longest number or word, bytes; what is longer is no JSON of use.
const LITERAL_MAX: usize = 64;

/// Where a walk is in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value comes.
    Value,
    /// A value or the end of a list that has none.
    FirstElement,
    /// A name comes; after `{` also the end of the object.
    FirstName,
    Name,
    /// Inside a name or a value in quotes.
    Text {
        is_name: bool,
        is_escaped: bool,
    },
    Colon,
    /// A number or a word.
    Literal,
    /// After a value.
    After,
    /// The body is no JSON, or deeper than is followed.
    Wrong,
}

/// What was found at the end of a path.
#[derive(Debug, Clone, Default)]
struct Slot {
    /// As it is in the body.
    raw: Vec<u8>,
    /// Depth at which it lies while it arrives.
    open: Option<usize>,
    is_found: bool,
    is_cut: bool,
    /// It is a text with an escape that is none.
    is_broken: bool,
    /// Members of the value itself.
    count: u32,
    /// Values of a path that leads to many.
    found: u32,
}

impl Slot {
    /// A value begins: the only one, or one of a list.
    fn open(&mut self, depth: usize, is_list: bool, most: usize) {
        self.open = Some(depth);
        if !is_list {
            self.raw.clear();
            (self.is_found, self.is_cut) = (true, false);
            return;
        }
        self.found += 1;
        self.is_found = true;
        match self.raw.len() < most {
            true => self.raw.push(if self.found == 1 { b'[' } else { b',' }),
            false => self.is_cut = true,
        }
    }
}

/// A walk through one body.
#[derive(Debug, Clone)]
pub struct Walk {
    state: State,
    /// For each open container whether it is an object, and how many members are before.
    inside: Vec<(bool, u32)>,
    name: Vec<u8>,
    /// It is longer than what is kept of one.
    name_is_long: bool,
    literal: Vec<u8>,
    /// For each path how many of its keys lead to the containers that are open.
    matched: Vec<usize>,
    slots: Vec<Slot>,
    /// Slots that are open.
    opened: usize,
    most: usize,
}

/// A value of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// As it is written.
    Number(&'a [u8]),
    /// Its letters, without quotes and escapes.
    Text(&'a [u8]),
    /// Its text, and how many elements it has.
    List(&'a [u8], u32),
    /// Its text, and how many members it has.
    Object(&'a [u8], u32),
}

/// Why there is no value at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValue {
    /// The body is no JSON, or not whole.
    NotJson,
    /// Nothing lies there.
    Absent,
    /// It is longer than what is kept.
    TooLong,
}

impl Walk {
    /// Takes memory to follow so many paths, and to keep values of at most so many bytes.
    pub fn new(paths: usize, most: usize) -> Self {
        Self {
            state: State::Value,
            inside: Vec::with_capacity(DEPTH_MAX),
            name: Vec::with_capacity(NAME_MAX),
            name_is_long: false,
            literal: Vec::with_capacity(LITERAL_MAX),
            matched: vec![0; paths],
            slots: vec![Slot::default(); paths],
            opened: 0,
            most,
        }
    }

    /// Forgets the body.
    pub fn restart(&mut self) {
        self.state = State::Value;
        self.inside.clear();
        self.matched.fill(0);
        self.opened = 0;
        for slot in &mut self.slots {
            slot.raw.clear();
            *slot = Slot { raw: std::mem::take(&mut slot.raw), ..Slot::default() };
        }
    }

    /// The value at the end of a path, once the body is over.
    pub fn found(&self, path: usize) -> Result<Json<'_>, NoValue> {
        let is_whole = self.inside.is_empty() && matches!(self.state, State::After);
        let slot = &self.slots[path];
        match (is_whole, slot.is_found, slot.is_cut) {
            (false, ..) => Err(NoValue::NotJson),
            (_, false, _) => Err(NoValue::Absent),
            (_, _, true) => Err(NoValue::TooLong),
            _ if slot.is_broken => Err(NoValue::NotJson),
            _ if slot.found > 0 => Ok(Json::List(&slot.raw, slot.found)),
            _ => value(&slot.raw, slot.count).ok_or(NoValue::NotJson),
        }
    }

    /// The body is over.
    pub fn end(&mut self) {
        if self.state == State::Literal {
            self.end_literal();
        }
        for slot in &mut self.slots {
            if slot.found > 0 {
                slot.raw.push(b']');
            } else if slot.raw.first() == Some(&b'"') {
                slot.is_broken = !unescape(&mut slot.raw);
            }
        }
    }

    /// Continues with a piece of the body.
    pub fn read(&mut self, paths: &[Vec<Key>], piece: &[u8]) {
        let mut at = 0;
        while at < piece.len() && self.state != State::Wrong {
            if let State::Text { is_name, is_escaped: false } = self.state {
                let plain = memchr2(b'"', b'\\', &piece[at..]).unwrap_or(piece.len() - at);
                self.keep(&piece[at..at + plain]);
                if is_name {
                    self.keep_name(&piece[at..at + plain]);
                }
                at += plain;
                if at == piece.len() {
                    return;
                }
            }
            let is_taken = self.step(paths, piece[at]);
            at += usize::from(is_taken);
        }
    }

    /// One byte; whether it was taken.
    fn step(&mut self, paths: &[Vec<Key>], byte: u8) -> bool {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            State::Text { is_name, is_escaped } => {
                self.keep(&[byte]);
                let is_end = byte == b'"' && !is_escaped;
                if is_name && !is_end {
                    self.keep_name(&[byte]);
                }
                match is_end {
                    true if is_name => self.state = State::Colon,
                    true => self.end_value(),
                    false => {
                        let is_escaped = byte == b'\\' && !is_escaped;
                        self.state = State::Text { is_name, is_escaped };
                    }
                }
            }
            State::Literal if is_space || matches!(byte, b',' | b']' | b'}') => {
                self.end_literal();
                return false;
            }
            State::Literal => {
                self.keep(&[byte]);
                match self.literal.len() < LITERAL_MAX {
                    true => self.literal.push(byte),
                    false => self.state = State::Wrong,
                }
            }
            _ if is_space => self.keep(&[byte]),
            State::Value => self.begin(paths, byte),
            State::FirstElement if byte == b']' => self.close(byte),
            State::FirstElement => self.begin(paths, byte),
            State::FirstName if byte == b'}' => self.close(byte),
            State::FirstName | State::Name if byte == b'"' => {
                self.keep(&[byte]);
                (self.name_is_long, _) = (false, self.name.clear());
                self.state = State::Text { is_name: true, is_escaped: false };
            }
            State::Colon if byte == b':' => {
                self.keep(&[byte]);
                self.state = State::Value;
            }
            State::After => self.after(byte),
            _ => self.state = State::Wrong,
        }
        true
    }

    /// A comma, or the end of a container.
    fn after(&mut self, byte: u8) {
        let is_object = self.inside.last().map(|(is_object, _)| *is_object);
        match (byte, is_object) {
            (b',', Some(is_object)) => {
                self.keep(&[byte]);
                self.state = if is_object { State::Name } else { State::Value };
                if let Some((_, before)) = self.inside.last_mut() {
                    *before += 1;
                }
            }
            (b'}', Some(true)) | (b']', Some(false)) => {
                if let Some((_, before)) = self.inside.last_mut() {
                    *before += 1;
                }
                self.close(byte);
            }
            _ => self.state = State::Wrong,
        }
    }

    /// A value begins with this byte.
    fn begin(&mut self, paths: &[Vec<Key>], byte: u8) {
        let depth = self.inside.len();
        for (place, path) in paths.iter().enumerate() {
            // The path of the value that begins is one key longer than that of its container.
            let leads_here = depth == 0
                || self.matched[place] == depth - 1
                    && path.get(depth - 1).is_some_and(|key| self.is_here(key));
            if !leads_here {
                continue;
            }
            if path.len() == depth {
                self.slots[place].open(depth, path.contains(&Key::All), self.most);
                self.opened += 1;
            } else if matches!(byte, b'{' | b'[') {
                self.matched[place] = depth;
            }
        }
        self.keep(&[byte]);
        match byte {
            b'{' | b'[' if depth == DEPTH_MAX => self.state = State::Wrong,
            b'{' => {
                self.inside.push((true, 0));
                self.state = State::FirstName;
            }
            b'[' => {
                self.inside.push((false, 0));
                self.state = State::FirstElement;
            }
            b'"' => self.state = State::Text { is_name: false, is_escaped: false },
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                self.literal.clear();
                self.literal.push(byte);
                self.state = State::Literal;
            }
            _ => self.state = State::Wrong,
        }
    }

    /// Whether the value that begins has this key in the innermost container.
    // Cold: a name with an escape is copied, and no usual name has one.
    fn is_here(&self, key: &Key) -> bool {
        match (self.inside.last(), key) {
            (Some((true, _)), Key::Name(name)) if !self.name_is_long => {
                match self.name.contains(&b'\\') {
                    false => self.name == name.as_bytes(),
                    true => {
                        let mut text = self.name.clone();
                        unescape(&mut text) && text == name.as_bytes()
                    }
                }
            }
            (Some((false, before)), Key::Nth(place)) => before == place,
            (Some((false, _)), Key::All) => true,
            _ => false,
        }
    }

    fn end_literal(&mut self) {
        let is_word = matches!(&self.literal[..], b"true" | b"false" | b"null");
        match is_word || is_number(&self.literal) {
            true => self.end_value(),
            false => self.state = State::Wrong,
        }
    }

    /// The innermost container ends.
    fn close(&mut self, byte: u8) {
        self.keep(&[byte]);
        let count = self.inside.pop().map_or(0, |(_, count)| count);
        let depth = self.inside.len();
        for (place, matched) in self.matched.iter_mut().enumerate() {
            if *matched >= depth && depth > 0 {
                *matched = depth - 1;
            }
            if depth == 0 {
                *matched = 0;
            }
            if self.slots[place].open == Some(depth) {
                self.slots[place].count = count;
            }
        }
        self.end_value();
    }

    /// A value is over; those that it is the end of a path for are whole.
    fn end_value(&mut self) {
        self.state = State::After;
        if self.opened == 0 {
            return;
        }
        let depth = self.inside.len();
        for slot in &mut self.slots {
            if slot.open == Some(depth) {
                slot.open = None;
                self.opened -= 1;
            }
        }
    }

    fn keep_name(&mut self, bytes: &[u8]) {
        self.name_is_long |= self.name.len() + bytes.len() > NAME_MAX;
        if !self.name_is_long {
            self.name.extend_from_slice(bytes);
        }
    }

    /// Keeps some of the text, where it belongs to something that is looked for.
    #[inline]
    fn keep(&mut self, bytes: &[u8]) {
        if self.opened == 0 {
            return;
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.open.is_some()) {
            match slot.raw.len() + bytes.len() <= self.most {
                true => slot.raw.extend_from_slice(bytes),
                false => slot.is_cut = true,
            }
        }
    }
}

/// A value from its text.
fn value(raw: &[u8], count: u32) -> Option<Json<'_>> {
    let raw = raw.trim_ascii();
    match raw.first()? {
        b'n' => Some(Json::Null),
        b't' => Some(Json::Boolean(true)),
        b'f' => Some(Json::Boolean(false)),
        b'"' => raw.get(1..raw.len() - 1).map(Json::Text),
        b'[' => Some(Json::List(raw, count)),
        b'{' => Some(Json::Object(raw, count)),
        _ => Some(Json::Number(raw)),
    }
}

/// Whether it is a number of JSON.
fn is_number(text: &[u8]) -> bool {
    let digits = |rest: &mut &[u8]| {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        *rest = &rest[count..];
        count
    };
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let leads_with_zero = rest.first() == Some(&b'0');
    let whole = digits(&mut rest);
    let mut is_good = whole >= 1 && (whole == 1 || !leads_with_zero);
    if let Some(after) = rest.strip_prefix(b".") {
        rest = after;
        is_good &= digits(&mut rest) >= 1;
    }
    if let Some(after) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        rest = after.strip_prefix(b"+").or_else(|| after.strip_prefix(b"-")).unwrap_or(after);
        is_good &= digits(&mut rest) >= 1;
    }
    is_good && rest.is_empty()
}

/// Replaces the escapes of a text in quotes by their letters, which take no more bytes than they;
/// false if one is none.
pub fn unescape(text: &mut Vec<u8>) -> bool {
    let Some(first) = memchr(b'\\', text) else { return std::str::from_utf8(text).is_ok() };
    let (mut from, mut to) = (first, first);
    while from < text.len() {
        if text[from] != b'\\' {
            text[to] = text[from];
            (from, to) = (from + 1, to + 1);
            continue;
        }
        let Some((letter, taken)) = escaped(&text[from..]) else { return false };
        let mut utf8 = [0; 4];
        let letter = letter.encode_utf8(&mut utf8).as_bytes();
        text[to..to + letter.len()].copy_from_slice(letter);
        (from, to) = (from + taken, to + letter.len());
    }
    text.truncate(to);
    std::str::from_utf8(text).is_ok()
}

/// The letter of an escape, and how many bytes that has.
fn escaped(text: &[u8]) -> Option<(char, usize)> {
    let letter = match text.get(1)? {
        letter @ (b'"' | b'\\' | b'/') => char::from(*letter),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = unit(text.get(2..6)?)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first)?, 6));
            }
            let second = text.get(6..8).filter(|next| next == b"\\u").and(text.get(8..12))?;
            let second = unit(second)?.checked_sub(0xdc00)?;
            return Some((char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + second)?, 12));
        }
        _ => return None,
    };
    Some((letter, 2))
}

/// Four hexadecimal digits.
fn unit(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| Some(sum << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests;
