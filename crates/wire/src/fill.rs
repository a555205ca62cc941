//! The values of one user, and texts with their holes filled.
//!
//! The values of a user lie in one piece of memory of a fixed size, so that a run knows before it
//! starts what its users will take.

use crate::http2::Scheme;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::flow::{Piece, Source, Text};
use model::random::Random;

/// Most bytes of the values of a user.
pub const VALUES_BYTES: usize = 4 * 1024;

/// What a user carries from step to step.
#[derive(Debug, Clone)]
pub struct Values {
    bytes: Vec<u8>,
    /// Where each variable lies; absent while it has no value.
    places: Vec<Option<(u32, u32)>>,
    room: usize,
}

/// A value has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

impl Values {
    /// Takes memory for so many variables with so many bytes together.
    pub fn new(variables: usize, room: usize) -> Self {
        Self { bytes: Vec::with_capacity(room), places: vec![None; variables], room }
    }

    /// Forgets all values: the next user begins.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.fill(None);
    }

    /// The value of a variable, if it has one.
    pub fn get(&self, variable: u16) -> Option<&[u8]> {
        let (start, end) = (*self.places.get(usize::from(variable))?)?;
        Some(&self.bytes[start as usize..end as usize])
    }

    /// Gives a variable a value.
    pub fn set(&mut self, variable: u16, value: &[u8]) -> Result<(), NoRoom> {
        self.take(variable);
        if self.bytes.len() + value.len() > self.room {
            return Err(NoRoom);
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.places[usize::from(variable)] = Some((start, self.bytes.len() as u32));
        Ok(())
    }

    /// Removes a value; those after it move to the front.
    fn take(&mut self, variable: u16) {
        let Some((start, end)) = self.places[usize::from(variable)].take() else { return };
        self.bytes.drain(start as usize..end as usize);
        for (from, to) in self.places.iter_mut().flatten().filter(|(from, _)| *from >= end) {
            (*from, *to) = (*from - (end - start), *to - (end - start));
        }
    }
}

/// Where values of holes come from when a step is sent.
#[derive(Debug)]
pub struct Fill<'a> {
    /// What the user carries.
    pub values: &'a Values,
    /// Number of the user, from 1.
    pub user: u64,
    /// Number of the request, from 1.
    pub seq: u64,
    /// Random values of the user.
    pub random: &'a mut Random,
    /// When the flow began (RFC 3339).
    pub date: &'a str,
}

impl Fill<'_> {
    /// Appends a text with its holes filled. A variable without a value is an empty text.
    pub fn put(&mut self, text: &Text, output: &mut Vec<u8>) {
        for piece in &text.0 {
            match piece {
                Piece::Plain(bytes) => output.extend_from_slice(bytes),
                Piece::Base64(inside) => {
                    // Cold: once for each user of a flow with a password.
                    let mut plain = Vec::new();
                    self.put(inside, &mut plain);
                    output.extend_from_slice(STANDARD.encode(plain).as_bytes());
                }
                Piece::Hole(Source::Variable(place), escape) => {
                    escape.put(self.values.get(*place).unwrap_or_default(), output);
                }
                Piece::Hole(Source::Date, escape) => escape.put(self.date.as_bytes(), output),
                Piece::Hole(source, _) => self.draw(*source, output),
            }
        }
    }

    /// The same as a text of its own.
    // Cold: what is shown or compared.
    pub fn text(&mut self, text: &Text) -> Vec<u8> {
        let mut output = Vec::new();
        self.put(text, &mut output);
        output
    }

    /// Appends a value that is drawn or counted.
    fn draw(&mut self, source: Source, output: &mut Vec<u8>) {
        match source {
            Source::Uuid => put_uuid(self.random, output),
            Source::User => put_number(self.user, output),
            Source::Seq => put_number(self.seq, output),
            Source::Random(least, most) => put_number(self.random.between(least, most), output),
            Source::Variable(_) | Source::Date => {}
        }
    }
}

/// The scheme of a server.
pub fn scheme_of(base: &str) -> Scheme {
    let is_secure = base.get(..6).is_some_and(|begin| begin.eq_ignore_ascii_case("https:"));
    if is_secure { Scheme::Https } else { Scheme::Http }
}

/// A number in decimal.
pub(crate) fn put_number(number: u64, output: &mut Vec<u8>) {
    let (mut digits, mut at, mut left) = ([0; 20], 20, number);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            return output.extend_from_slice(&digits[at..]);
        }
    }
}

/// A random UUID (version 4 of RFC 9562).
fn put_uuid(random: &mut Random, output: &mut Vec<u8>) {
    let bits = u128::from(random.draw()) << 64 | u128::from(random.draw());
    let bits = (bits & !((0xf << 76) | (0b11 << 62))) | (0x4 << 76) | (0b10 << 62);
    for nibble in 0..32 {
        if [8, 12, 16, 20].contains(&nibble) {
            output.push(b'-');
        }
        output.push(b"0123456789abcdef"[(bits >> (124 - 4 * nibble)) as usize & 0xf]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::flow::Escape;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// The memory of a user behaves like a map, as long as what is in it fits.
        #[test]
        fn values_are_those_of_a_map(
            steps in prop::collection::vec((0u16..5, "[a-z]{0,12}", any::<bool>()), 0..60)
        ) {
            const ROOM: usize = 30;
            let mut values = Values::new(5, ROOM);
            let mut plain: BTreeMap<u16, String> = BTreeMap::new();
            for (variable, value, is_new_user) in steps {
                if is_new_user && value.is_empty() {
                    values.clear();
                    plain.clear();
                }
                plain.remove(&variable);
                let taken: usize = plain.values().map(String::len).sum();
                let fits = taken + value.len() <= ROOM;
                prop_assert_eq!(values.set(variable, value.as_bytes()).is_ok(), fits);
                if fits {
                    plain.insert(variable, value);
                }
                for place in 0..5 {
                    let value = plain.get(&place).map(String::as_bytes);
                    prop_assert_eq!(values.get(place), value);
                }
            }
        }
    }

    #[test]
    fn holes_are_filled_as_their_place_needs_it() {
        let mut values = Values::new(1, 100);
        values.set(0, "a \"b\"/é\n".as_bytes()).unwrap();
        let mut random = Random::new(1, 1);
        let date = "2026-11-30T00:00:00Z";
        let mut fill = Fill { values: &values, user: 7, seq: 120, random: &mut random, date };
        let mut text = |piece| String::from_utf8(fill.text(&Text(vec![piece]))).unwrap();
        let mut hole = |source, escape| text(Piece::Hole(source, escape));
        let variable = Source::Variable(0);
        assert_eq!(hole(variable, Escape::Raw), "a \"b\"/é\n");
        assert_eq!(hole(variable, Escape::Url), "a%20%22b%22/%C3%A9%0A");
        assert_eq!(hole(variable, Escape::Part), "a%20%22b%22%2F%C3%A9%0A");
        assert_eq!(hole(variable, Escape::Json), "a \\\"b\\\"/é\\u000A");
        assert_eq!(hole(Source::User, Escape::Raw), "7");
        assert_eq!(hole(Source::Seq, Escape::Raw), "120");
        assert_eq!(hole(Source::Random(3, 3), Escape::Raw), "3");
        assert_eq!(hole(Source::Date, Escape::Raw), date);
        let uuid = hole(Source::Uuid, Escape::Raw);
        assert!(uuid.len() == 36 && uuid.as_bytes()[14] == b'4', "{uuid}");
        assert!(b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
        let inside = Text::plain("bob:secret");
        assert_eq!(text(Piece::Base64(inside)), "Ym9iOnNlY3JldA==");
    }
}
