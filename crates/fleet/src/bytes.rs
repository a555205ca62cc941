//! Numbers and texts as bytes, and back. No input makes the reader panic or allocate more memory
//! than the input justifies.
//!
//! A number takes seven bits of each byte, the lowest first; a byte whose highest bit is set is not
//! the last. Each number has exactly one form.

/// Why bytes are malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They end too early.
    #[error("it ends too early")]
    Short,
    /// More bytes follow the end.
    #[error("more bytes follow the end")]
    Long,
    /// A value is out of range, or has a form that is never written.
    #[error("{0} is out of range")]
    Range(&'static str),
}

/// Writes values one after the other.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// All bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A number.
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A 128-bit number: its upper half, then its lower half.
    pub fn wide(&mut self, value: u128) {
        self.number((value >> 64) as u64);
        self.number(value as u64);
    }

    /// A signed number; small ones are short.
    pub fn signed(&mut self, value: i64) {
        self.number(((value << 1) ^ (value >> 63)) as u64);
    }

    /// One byte.
    pub fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Bytes of a length that the reader knows.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.raw(bytes);
    }
}

/// Reads what a [`Writer`] wrote.
#[derive(Debug, Clone)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let (first, rest) = self.0.split_first().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    /// A number.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Malformed> {
        // Most numbers are small.
        match self.0 {
            [first @ 0..0x80, rest @ ..] => {
                self.0 = rest;
                Ok(u64::from(*first))
            }
            _ => self.large_number(),
        }
    }

    fn large_number(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for place in 0..10 {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let is_too_wide = place == 9 && bits > 1;
            let is_padded = place > 0 && byte == 0;
            if is_too_wide || is_padded {
                return Err(Malformed::Range("a number"));
            }
            value |= bits << (7 * place);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed::Range("a number"))
    }

    /// A number of at most `most`.
    #[inline]
    pub fn up_to(&mut self, most: u64, what: &'static str) -> Result<u64, Malformed> {
        let value = self.number()?;
        if value <= most { Ok(value) } else { Err(Malformed::Range(what)) }
    }

    /// A 128-bit number.
    pub fn wide(&mut self) -> Result<u128, Malformed> {
        let upper = self.number()?;
        Ok(u128::from(upper) << 64 | u128::from(self.number()?))
    }

    /// A signed number.
    pub fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The count of the elements that follow, each of which takes at least one byte.
    pub fn count(&mut self, most: usize, what: &'static str) -> Result<usize, Malformed> {
        let count = self.up_to(most as u64, what)? as usize;
        if count <= self.left() { Ok(count) } else { Err(Malformed::Short) }
    }

    /// Bytes of a known length.
    pub fn raw(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The next bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self.raw(N)?;
        bytes.try_into().map_err(|_| Malformed::Short)
    }

    /// Bytes with their length, at most `most`.
    pub fn bytes(&mut self, most: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let length = self.up_to(most as u64, what)? as usize;
        self.raw(length)
    }

    /// A text with its length, at most `most` bytes.
    pub fn text(&mut self, most: usize, what: &'static str) -> Result<&'a str, Malformed> {
        let bytes = self.bytes(most, what)?;
        std::str::from_utf8(bytes).map_err(|_| Malformed::Range(what))
    }

    /// Checks that all bytes were read.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Long) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_has_one_form() {
        let read = |bytes: &[u8]| Reader::new(bytes).number();
        assert_eq!(read(&[0x80, 0x00]), Err(Malformed::Range("a number")), "padded");
        assert_eq!(read(&[0xff; 10]), Err(Malformed::Range("a number")), "too wide");
        assert_eq!(read(&[0x80]), Err(Malformed::Short));
    }

    #[test]
    fn a_count_needs_bytes_that_follow() {
        let mut writer = Writer::default();
        writer.number(1 << 40);
        let bytes = writer.into_bytes();
        assert_eq!(Reader::new(&bytes).count(usize::MAX, "it"), Err(Malformed::Short));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number: u64, signed: i64, wide: u128, text in ".{0,40}") {
            let mut writer = Writer::default();
            writer.number(number);
            writer.signed(signed);
            writer.wide(wide);
            writer.bytes(text.as_bytes());
            let bytes = writer.into_bytes();
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert_eq!(reader.signed(), Ok(signed));
            prop_assert_eq!(reader.wide(), Ok(wide));
            prop_assert_eq!(reader.text(1 << 10, "it"), Ok(&*text));
            prop_assert_eq!(reader.end(), Ok(()));
        }
    }
}
