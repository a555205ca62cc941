//! Header blocks of responses (HPACK, RFC 7541), read without keeping their text.
//!
//! Of a field only what matters is kept: which of a few names it has, the number that its value is,
//! and its size, by which the table of the peer evicts. So a connection needs no memory for
//! strings, and a field costs the walk over its bytes. Most heads of a connection are equal to the
//! one before, and so are most trailers: the last block of each part is remembered with what it
//! said, and one with the same bytes is not decoded again while it still means the same.
//!
//! Hot: runs for every response.

use super::huffman;
use super::static_table::FIELDS;
use crate::head::is_token;
use crate::response::ProtocolError;
use model::call::CallStatus;

/// Size of the table that a peer may use, octets as RFC 7541 counts them (section 4.1): the
/// default, since we announce no other.
pub(super) const TABLE_MAX: u32 = 4096;
/// What each entry counts besides its text.
pub(super) const ENTRY_EXTRA: u32 = 32;
/// Entries of the largest table, each without text.
const ENTRIES_MAX: usize = (TABLE_MAX / ENTRY_EXTRA) as usize;
/// Longest block that is remembered, bytes.
const MEMO_BYTES: usize = 96;
/// Most insertions of a block that is remembered.
const MEMO_INSERTS: usize = 12;
/// Longest text that matters: `transfer-encoding`, or a length of 20 digits.
const TEXT_MAX: usize = 24;

/// Which part of a response a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Head,
    Trailers,
}

/// What a block of header fields says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fields {
    /// `:status`; 0 without one.
    pub status: u16,
    /// `content-length`.
    pub length: Option<u64>,
    /// `grpc-status`.
    pub call: Option<CallStatus>,
    /// Bytes of all names and values.
    pub bytes: u32,
    /// A rule was broken: an unknown or misplaced pseudo-field, a field of connections, a name in
    /// capitals, two lengths (RFC 9113 sections 8.2 and 8.3).
    pub is_malformed: bool,
}

impl Fields {
    /// What they say of how the response ends.
    #[inline]
    pub fn ending(&self) -> u16 {
        match self.call {
            None | Some(CallStatus::Ok) => self.status,
            Some(failed) => failed.number(),
        }
    }
}

/// A name, as far as it matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Name {
    #[default]
    Other,
    Status,
    ContentLength,
    CallStatus,
    /// A pseudo-field that responses do not have, a field of connections, or no valid name.
    Wrong,
}

/// A field that was decoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Field {
    /// The number that its value is, where one is due; `WRONG` when it is none.
    number: u64,
    name_bytes: u32,
    value_bytes: u32,
    name: Name,
    has_bad_value: bool,
}

/// No number.
const WRONG: u64 = u64::MAX;

impl Field {
    fn size(self) -> u32 {
        self.name_bytes + self.value_bytes + ENTRY_EXTRA
    }
}

impl Name {
    fn of(text: &Text) -> Self {
        let name = text.known();
        let is_valid = |byte: &u8| is_token(*byte) && !byte.is_ascii_uppercase();
        match name {
            b":status" => Self::Status,
            b"content-length" => Self::ContentLength,
            b"grpc-status" => Self::CallStatus,
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" | b"" => Self::Wrong,
            _ if name.iter().all(is_valid) && !text.is_odd => Self::Other,
            _ => Self::Wrong,
        }
    }
}

/// A string as it passes by.
#[derive(Debug, Clone, Copy)]
struct Text {
    bytes: [u8; TEXT_MAX],
    length: u32,
    /// It has a byte that no name may have, behind those that are kept.
    is_odd: bool,
    /// It has a NUL or a line break, which no value may have.
    is_broken: bool,
}

impl Text {
    const EMPTY: Self = Self { bytes: [0; TEXT_MAX], length: 0, is_odd: false, is_broken: false };

    #[inline]
    fn take(&mut self, byte: u8) {
        match self.bytes.get_mut(self.length as usize) {
            Some(place) => *place = byte,
            None => self.is_odd |= !is_token(byte) || byte.is_ascii_uppercase(),
        }
        self.length += 1;
        self.is_broken |= matches!(byte, 0 | b'\r' | b'\n');
    }

    /// What is kept of it: all, unless it is longer than anything that matters.
    fn known(&self) -> &[u8] {
        &self.bytes[..(self.length as usize).min(TEXT_MAX)]
    }

    /// The number that it is, in decimal digits and nothing else.
    fn number(&self) -> u64 {
        if self.length == 0 || self.length as usize > TEXT_MAX {
            return WRONG;
        }
        let digit = |sum: u64, byte: &u8| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            sum.checked_mul(10)?.checked_add(digit)
        };
        self.known().iter().try_fold(0, digit).unwrap_or(WRONG)
    }
}

/// The table of a connection, as far as its entries matter: a ring, the newest entry last.
#[derive(Debug, Clone)]
struct Table {
    entries: [Field; ENTRIES_MAX],
    /// Place of the oldest entry.
    first: usize,
    count: usize,
    size: u32,
    /// Most that the peer uses, at most [`TABLE_MAX`].
    limit: u32,
    /// Counts changes: a block with a reference means the same only while there is none.
    generation: u64,
}

impl Table {
    fn insert(&mut self, field: Field) {
        self.generation += 1;
        self.shrink(self.limit.saturating_sub(field.size()));
        if field.size() <= self.limit {
            self.entries[(self.first + self.count) % ENTRIES_MAX] = field;
            self.count += 1;
            self.size += field.size();
        }
    }

    /// Evicts the oldest entries until no more than `most` is used.
    fn shrink(&mut self, most: u32) {
        while self.size > most {
            self.size -= self.entries[self.first].size();
            self.first = (self.first + 1) % ENTRIES_MAX;
            self.count -= 1;
        }
    }

    /// The entry with this index, the newest is 0.
    fn get(&self, index: usize) -> Option<Field> {
        let nth = self.count.checked_sub(index + 1)?;
        Some(self.entries[(self.first + nth) % ENTRIES_MAX])
    }
}

/// The last block of a part, with what it said.
#[derive(Debug, Clone)]
struct Memo {
    bytes: [u8; MEMO_BYTES],
    /// Length of the block; 0 for none.
    length: usize,
    said: Fields,
    /// The generation it was read at, when it refers to the table of the connection.
    read_at: Option<u64>,
    inserts: [Field; MEMO_INSERTS],
    insert_count: usize,
}

/// Reads the header blocks of one connection.
#[derive(Debug, Clone)]
pub(super) struct Decoder {
    table: Table,
    /// By [`Part`].
    memos: [Memo; 2],
}

/// What is learned of a block while it is decoded.
struct Learned {
    said: Fields,
    refers: bool,
    /// A field came that is no pseudo-field.
    has_regular: bool,
    inserts: [Field; MEMO_INSERTS],
    insert_count: usize,
}

impl Decoder {
    pub fn new() -> Self {
        let (inserts, said) = ([Field::default(); MEMO_INSERTS], Fields::default());
        let bytes = [0; MEMO_BYTES];
        let memo = Memo { bytes, length: 0, said, read_at: None, inserts, insert_count: 0 };
        Self {
            table: Table {
                entries: [Field::default(); ENTRIES_MAX],
                first: 0,
                count: 0,
                size: 0,
                limit: TABLE_MAX,
                generation: 0,
            },
            memos: [memo.clone(), memo],
        }
    }

    /// For a fresh connection.
    pub fn restart(&mut self) {
        let table = &mut self.table;
        (table.first, table.count, table.size, table.limit) = (0, 0, 0, TABLE_MAX);
        table.generation = 0;
        self.memos.iter_mut().for_each(|memo| memo.length = 0);
    }

    /// Reads a whole block.
    #[inline]
    pub fn read(&mut self, part: Part, block: &[u8]) -> Result<Fields, ProtocolError> {
        let memo = &self.memos[part as usize];
        let is_same = memo.length == block.len() && memo.bytes[..memo.length] == *block;
        let still_means = memo.read_at.is_none_or(|at| at == self.table.generation);
        if is_same && still_means && !block.is_empty() {
            for nth in 0..memo.insert_count {
                self.table.insert(memo.inserts[nth]);
            }
            return Ok(memo.said);
        }
        self.read_anew(part, block)
    }

    #[inline(never)]
    fn read_anew(&mut self, part: Part, block: &[u8]) -> Result<Fields, ProtocolError> {
        let generation = self.table.generation;
        let mut learned = Learned {
            said: Fields::default(),
            refers: false,
            has_regular: false,
            inserts: [Field::default(); MEMO_INSERTS],
            insert_count: 0,
        };
        self.memos[part as usize].length = 0;
        let mut rest = block;
        let mut changes_limit = false;
        while let Some(&first) = rest.first() {
            if first & 0xe0 == 0x20 {
                // A new size of the table; only at the start of a block (section 4.2).
                if rest.len() != block.len() && !changes_limit {
                    return Err(ProtocolError::BadHeaderBlock);
                }
                changes_limit = true;
                let limit = integer(&mut rest, 5)?;
                if limit > TABLE_MAX {
                    return Err(ProtocolError::BadHeaderBlock);
                }
                self.table.limit = limit;
                self.table.shrink(limit);
                self.table.generation += 1;
                continue;
            }
            changes_limit = false;
            let field = self.field(first, &mut rest, &mut learned)?;
            learned.add(field);
        }
        let is_kept = block.len() <= MEMO_BYTES && learned.insert_count <= MEMO_INSERTS;
        if is_kept && block.first().is_some_and(|first| first & 0xe0 != 0x20) {
            let memo = &mut self.memos[part as usize];
            memo.bytes[..block.len()].copy_from_slice(block);
            memo.length = block.len();
            memo.said = learned.said;
            memo.read_at = learned.refers.then_some(generation);
            (memo.inserts, memo.insert_count) = (learned.inserts, learned.insert_count);
        }
        Ok(learned.said)
    }

    /// One field (section 6), of which `first` is the first byte.
    fn field(
        &mut self,
        first: u8,
        rest: &mut &[u8],
        learned: &mut Learned,
    ) -> Result<Field, ProtocolError> {
        if first & 0x80 != 0 {
            let index = integer(rest, 7)?;
            return self.at(index, learned);
        }
        let is_inserted = first & 0x40 != 0;
        let index = integer(rest, if is_inserted { 6 } else { 4 })?;
        let named = match index {
            0 => {
                let text = string(rest)?;
                Field { name: Name::of(&text), name_bytes: text.length, ..Field::default() }
            }
            _ => self.at(index, learned)?,
        };
        let value = string(rest)?;
        let field = Field {
            number: number_of(named.name, &value),
            value_bytes: value.length,
            has_bad_value: value.is_broken,
            ..named
        };
        if is_inserted {
            self.table.insert(field);
            if let Some(place) = learned.inserts.get_mut(learned.insert_count) {
                *place = field;
            }
            learned.insert_count += 1;
        }
        Ok(field)
    }

    /// The field with this index in both tables (section 2.3.3).
    fn at(&self, index: u32, learned: &mut Learned) -> Result<Field, ProtocolError> {
        let index = (index as usize).checked_sub(1).ok_or(ProtocolError::BadHeaderBlock)?;
        if let Some((name, value)) = FIELDS.get(index) {
            return Ok(static_field(name, value));
        }
        learned.refers = true;
        self.table.get(index - FIELDS.len()).ok_or(ProtocolError::BadHeaderBlock)
    }
}

impl Learned {
    fn add(&mut self, field: Field) {
        let said = &mut self.said;
        said.bytes = said.bytes.saturating_add(field.name_bytes + field.value_bytes);
        said.is_malformed |= field.has_bad_value;
        match field.name {
            Name::Status => {
                let is_code = (100..=999).contains(&field.number);
                said.is_malformed |= self.has_regular || said.status != 0 || !is_code;
                said.status = if is_code { field.number as u16 } else { 0 };
                return;
            }
            Name::ContentLength => {
                let is_other = said.length.is_some_and(|length| length != field.number);
                said.is_malformed |= is_other || field.number == WRONG;
                said.length = Some(field.number);
            }
            Name::CallStatus => said.call = Some(CallStatus::of_code(field.number)),
            Name::Wrong => said.is_malformed = true,
            Name::Other => {}
        }
        self.has_regular = true;
    }
}

fn number_of(name: Name, value: &Text) -> u64 {
    match name {
        Name::Status if value.length == 3 => value.number(),
        Name::Status => WRONG,
        Name::ContentLength | Name::CallStatus => value.number(),
        Name::Other | Name::Wrong => 0,
    }
}

fn static_field(name: &str, value: &str) -> Field {
    let text = |text: &str| {
        let mut taken = Text::EMPTY;
        text.bytes().for_each(|byte| taken.take(byte));
        taken
    };
    let (name, value) = (text(name), text(value));
    let number = number_of(Name::of(&name), &value);
    Field {
        number,
        name_bytes: name.length,
        value_bytes: value.length,
        name: Name::of(&name),
        has_bad_value: false,
    }
}

/// An integer with a prefix of so many bits (section 5.1). Those of more than 28 bits are refused:
/// no index, length or size that could be right is that large.
#[inline]
pub(super) fn integer(rest: &mut &[u8], prefix_bits: u32) -> Result<u32, ProtocolError> {
    let mask = (1u32 << prefix_bits) - 1;
    let (&first, mut left) = rest.split_first().ok_or(ProtocolError::BadHeaderBlock)?;
    let mut value = u32::from(first) & mask;
    if value == mask {
        let mut shift = 0;
        loop {
            let (&byte, after) = left.split_first().ok_or(ProtocolError::BadHeaderBlock)?;
            left = after;
            if shift > 21 {
                return Err(ProtocolError::BadHeaderBlock);
            }
            value += u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *rest = left;
    Ok(value)
}

/// A string, plain or by the Huffman code (section 5.2).
fn string(rest: &mut &[u8]) -> Result<Text, ProtocolError> {
    let first = *rest.first().ok_or(ProtocolError::BadHeaderBlock)?;
    let length = integer(rest, 7)? as usize;
    let (bytes, after) = rest.split_at_checked(length).ok_or(ProtocolError::BadHeaderBlock)?;
    *rest = after;
    let mut text = Text::EMPTY;
    if first & 0x80 != 0 {
        let decoded = huffman::decode(bytes, |byte| text.take(byte));
        decoded.map_err(|_| ProtocolError::BadHeaderBlock)?;
    } else {
        bytes.iter().for_each(|byte| text.take(*byte));
    }
    Ok(text)
}

/// Appends an integer whose first byte has `pattern` before a prefix of so many bits.
pub(super) fn put_integer(value: usize, pattern: u8, prefix_bits: u32, output: &mut Vec<u8>) {
    let mask = (1usize << prefix_bits) - 1;
    if value < mask {
        return output.push(pattern | value as u8);
    }
    output.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        output.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    output.push(rest as u8);
}

/// Appends a string, by the Huffman code where that is shorter.
pub(super) fn put_string(text: &[u8], output: &mut Vec<u8>) {
    let length = huffman::encoded_length(text);
    if length < text.len() {
        put_integer(length, 0x80, 7, output);
        huffman::encode(text, output);
    } else {
        put_integer(text.len(), 0, 7, output);
        output.extend_from_slice(text);
    }
}

/// How a field is written that the static table does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Literal {
    /// Without a trace in any table.
    Plain,
    /// The same, for proxies on the way as well (RFC 7541 section 7.1.3).
    Secret,
    /// Into the table of the connection.
    Inserted,
}

/// Whether the static table has a field, so that it is written as an index.
pub(super) fn is_static(name: &str, value: &[u8]) -> bool {
    static_index(name, value).is_some()
}

fn static_index(name: &str, value: &[u8]) -> Option<usize> {
    FIELDS.iter().position(|(known, same)| *known == name && same.as_bytes() == value)
}

/// Appends a field: by its index in the static table, or as a literal.
pub(super) fn put_field(name: &str, value: &[u8], literal: Literal, output: &mut Vec<u8>) {
    if let Some(index) = static_index(name, value) {
        return put_integer(index + 1, 0x80, 7, output);
    }
    let (pattern, bits) = match literal {
        Literal::Plain => (0, 4),
        Literal::Secret => (0x10, 4),
        Literal::Inserted => (0x40, 6),
    };
    match FIELDS.iter().position(|(known, _)| *known == name) {
        Some(index) => put_integer(index + 1, pattern, bits, output),
        None => {
            put_integer(0, pattern, bits, output);
            put_string(name.as_bytes(), output);
        }
    }
    put_string(value, output);
}

/// Appends the index of an entry of the table of the connection, of which the newest is 0.
pub(super) fn put_entry(nth: usize, output: &mut Vec<u8>) {
    put_integer(FIELDS.len() + 1 + nth, 0x80, 7, output);
}

#[cfg(test)]
mod tests;
