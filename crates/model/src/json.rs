//! Documents as JSON.
//!
//! What this room is for: the code that reads and writes a record, an experiment and a reading,
//! once in a program. serde's code is generic, so that otherwise each crate which reads a record
//! has a copy of its own, of some 100 kB.
//! In: bytes, and documents. Out: documents, and bytes. Never: files.

use crate::experiment::Experiment;
use crate::printable::controls;
use crate::reading::Reading;
use crate::run::Record;
use serde::Serialize;
use serde::de::Error as _;
use std::fmt::Write as _;

/// A document that several crates read or write.
pub trait Document: Sized {
    /// Reads a document.
    ///
    /// # Errors
    /// When the bytes are no JSON, JSON of something else, or hold more than [`bounded`] allows.
    fn from_json(bytes: &[u8]) -> serde_json::Result<Self>;

    /// Appends the document as one line, without the line's end.
    fn append_json(&self, to: &mut Vec<u8>);
}

/// Keys of our documents are text, and writing to memory does not fail.
const WRITABLE: &str = "a document has a JSON form";

macro_rules! documents {
    ($($document:ty),*) => {
        // The code of each type is compiled here, also that which `pretty` uses.
        $(impl Document for $document {
            fn from_json(bytes: &[u8]) -> serde_json::Result<Self> {
                bounded(bytes)?;
                serde_json::from_slice(bytes)
            }

            fn append_json(&self, to: &mut Vec<u8>) {
                serde_json::to_writer(to, self).expect(WRITABLE);
            }
        })*
    };
}

documents!(Record, Experiment, Reading);

/// Values that any document may have, and bytes for each value beyond them. A value takes up to
/// some hundred bytes of memory where `{}` or `""` stands for it, and our documents have several
/// times as many bytes for each.
const VALUES_FREE: usize = 10_000;
const BYTES_PER_OBJECT: usize = 32;
const BYTES_PER_VALUE: usize = 16;

/// Whether a document takes memory in proportion to its bytes: it has no more objects, and no more
/// values of any kind but keys and numbers, than documents of its size have.
///
/// # Errors
/// It has more.
pub fn bounded(bytes: &[u8]) -> serde_json::Result<()> {
    let (mut objects, mut lists, mut quotes, mut colons) = (0, 0, 0, 0);
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => {
                quotes += 1;
                while let Some(byte) = rest.next().filter(|byte| **byte != b'"') {
                    if *byte == b'\\' {
                        rest.next();
                    }
                }
            }
            b'{' => objects += 1,
            b'[' => lists += 1,
            b':' => colons += 1,
            _ => {}
        }
    }
    let values = objects + lists + usize::saturating_sub(quotes, colons);
    for (kind, count, each) in
        [("objects", objects, BYTES_PER_OBJECT), ("values", values, BYTES_PER_VALUE)]
    {
        let most = VALUES_FREE + bytes.len() / each;
        if count > most {
            return Err(serde_json::Error::custom(format!(
                "it has {count} {kind}, which take far more memory than its {} bytes; a document \
                 of this size has at most {most}",
                bytes.len()
            )));
        }
    }
    Ok(())
}

/// A document in lines for people, as `serde_json::to_string_pretty` writes it, with a line's end.
/// Figures that are not finite become `null`. A character that controls a terminal is escaped,
/// which every reader of JSON undoes. Lines are made from the compact form, because serde_json's
/// own way is a second copy of the code that writes each type.
pub fn pretty(document: &impl Serialize) -> String {
    let mut text = in_lines(&serde_json::to_string(document).expect(WRITABLE));
    text.push('\n');
    text
}

/// A character of a text by its number.
fn escaped(character: char, text: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(text, "\\u{unit:04x}");
    }
}

/// JSON without white space between values, as one line for each value.
fn in_lines(compact: &str) -> String {
    let mut text = String::with_capacity(2 * compact.len());
    let mut depth = 0;
    let mut rest = compact.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '"' => {
                text.push(next);
                while let Some(next) = rest.next() {
                    match next {
                        next if controls(next) => escaped(next, &mut text),
                        next => text.push(next),
                    }
                    match next {
                        '"' => break,
                        '\\' => text.extend(rest.next()),
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                text.push(next);
                match rest.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => text.push(end),
                    None => {
                        depth += 1;
                        begin_line(&mut text, depth);
                    }
                }
            }
            '}' | ']' => {
                depth -= 1;
                begin_line(&mut text, depth);
                text.push(next);
            }
            ',' => {
                text.push(next);
                begin_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            _ => text.push(next),
        }
    }
    text
}

fn begin_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[\\\\\"{}\\[\\],: a\\n\u{e9}]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |value| {
            let key = "[\\\\\"{}\\[\\],: a\\n]{0,4}";
            prop_oneof![
                prop::collection::vec(value.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(key, value, 0..5)
                    .prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    #[test]
    fn a_document_has_no_more_values_than_its_bytes_can_mean() {
        for value in ["\"\"", "{}", "[]", "[[]]", "\"\\\"\"", "{\"a\":\"\"}"] {
            let of = |count: usize| format!("[{}]", vec![value; count].join(","));
            assert!(bounded(of(VALUES_FREE / 4).as_bytes()).is_ok(), "{value}");
            let refused = bounded(of(40 * VALUES_FREE).as_bytes()).unwrap_err().to_string();
            assert!(refused.contains("far more memory than its"), "{refused}");
        }
        // Numbers, and text that has its length, are as they are.
        let numbers = format!("[{}]", vec!["0"; 50 * VALUES_FREE].join(","));
        let texts = vec!["\"twenty letters of it\""; 50 * VALUES_FREE].join(",\n");
        for usual in [numbers, format!("[{texts}]")] {
            bounded(usual.as_bytes()).unwrap();
        }
        assert!(bounded(b"{\"a\": \"\\").is_ok(), "it is no JSON, which parsing says");
    }

    proptest! {
        #[test]
        fn lines_are_those_of_serde_json(value in any_value()) {
            prop_assert_eq!(pretty(&value), serde_json::to_string_pretty(&value).unwrap() + "\n");
        }
    }
}
