//! A header block of a response as text, so that a person can read it.
//!
//! For: samples of responses that failed.
//! In: a whole block. Out: its lines as HTTP/1.1 would write them, byte by byte.
//! Never: the table of the connection, of which no text is kept: fields that a block takes from
//! there are counted.
//!
//! Cold: a few blocks of a run.

use super::hpack::integer;
use super::huffman;
use super::static_table::FIELDS;

/// Shows the text of a block, and returns how many of its fields came earlier on the connection and
/// are not shown. What is no block ends the text.
pub fn spell(block: &[u8], mut show: impl FnMut(u8)) -> u32 {
    let (mut rest, mut hidden) = (block, 0);
    while !rest.is_empty() {
        match line(&mut rest, &mut show) {
            Some(Shown::All) => {}
            Some(Shown::Nothing) => hidden += 1,
            None => break,
        }
    }
    hidden
}

/// How much of a field is known.
enum Shown {
    All,
    Nothing,
}

/// One field, or a new size of the table.
fn line(rest: &mut &[u8], show: &mut impl FnMut(u8)) -> Option<Shown> {
    let first = *rest.first()?;
    if first & 0xe0 == 0x20 {
        integer(rest, 5).ok()?;
        return Some(Shown::All);
    }
    let (is_indexed, bits) = match first {
        0x80.. => (true, 7),
        0x40.. => (false, 6),
        _ => (false, 4),
    };
    let index = integer(rest, bits).ok()? as usize;
    let known = index.checked_sub(1).map(|place| FIELDS.get(place));
    if let (true, Some(known)) = (is_indexed, known) {
        let Some((name, value)) = known else { return Some(Shown::Nothing) };
        put_name(name.as_bytes(), show);
        value.bytes().for_each(&mut *show);
    } else {
        match known {
            Some(Some((name, _))) => put_name(name.as_bytes(), show),
            Some(None) => {
                string(rest, &mut |_| {})?;
                return Some(Shown::Nothing);
            }
            None => {
                string(rest, show)?;
                b": ".iter().for_each(|byte| show(*byte));
            }
        }
        string(rest, show)?;
    }
    b"\r\n".iter().for_each(|byte| show(*byte));
    Some(Shown::All)
}

/// The status is shown as in a status line.
fn put_name(name: &[u8], show: &mut impl FnMut(u8)) {
    let (name, end): (&[u8], &[u8]) = match name {
        b":status" => (b"HTTP/2", b" "),
        name => (name, b": "),
    };
    name.iter().chain(end).for_each(|byte| show(*byte));
}

fn string(rest: &mut &[u8], show: &mut impl FnMut(u8)) -> Option<()> {
    let is_coded = *rest.first()? & 0x80 != 0;
    let length = integer(rest, 7).ok()? as usize;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    match is_coded {
        true => huffman::decode(bytes, show).ok(),
        false => {
            bytes.iter().for_each(|byte| show(*byte));
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::{Literal, put_field, put_integer, put_string};
    use super::*;

    fn text(block: &[u8]) -> (String, u32) {
        let mut text = Vec::new();
        let hidden = spell(block, |byte| text.push(byte));
        (String::from_utf8(text).unwrap(), hidden)
    }

    #[test]
    fn a_block_is_shown_as_far_as_it_has_text() {
        let mut block = Vec::new();
        for (name, value) in [(":status", "503"), ("retry-after", "5"), ("x-why", "full")] {
            put_field(name, value.as_bytes(), Literal::Plain, &mut block);
        }
        assert_eq!(text(&block), ("HTTP/2 503\r\nretry-after: 5\r\nx-why: full\r\n".into(), 0));
        let cut = text(&block[..block.len() - 1]);
        assert_eq!(cut, ("HTTP/2 503\r\nretry-after: 5\r\nx-why: ".into(), 0));
        // A new size, an index of the static table, two of the other, and a value with such a name.
        let mut block = vec![0x3f, 0xe1, 0x1f, 0x88, 0xbe, 0xbf];
        put_integer(70, 0x40, 6, &mut block);
        put_string(b"unseen", &mut block);
        put_field("date", b"now", Literal::Plain, &mut block);
        assert_eq!(text(&block), ("HTTP/2 200\r\ndate: now\r\n".into(), 3));
    }
}
