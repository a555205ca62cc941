//! JSON of a tool, with the lines and the digits of its numbers.

use crate::audit::printed::{Digits, digits, scaled};
use model::audit::Figure;
use model::maps::IntoMap;
use serde_json::Deserializer;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A value of a document.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    text: &'a str,
    root: &'a str,
}

/// An object of a document.
#[derive(Debug, Clone)]
pub struct Object<'a> {
    entries: BTreeMap<String, Node<'a>>,
}

impl<'a> Node<'a> {
    /// The document that begins at a position of a text, and where it ends.
    pub fn begun(text: &'a str, begin: usize) -> Option<(Self, usize)> {
        let mut values = Deserializer::from_str(text.get(begin..)?).into_iter::<&RawValue>();
        let raw = values.next()?.ok()?;
        Some((Self { text: raw.get(), root: text }, begin + values.byte_offset()))
    }

    /// The whole of a document.
    #[cfg(test)]
    pub fn root(text: &'a str) -> Option<Self> {
        let (root, end) = Self::begun(text, 0)?;
        text.get(end..)?.trim().is_empty().then_some(root)
    }

    /// Its entries, if it is an object.
    pub fn object(self) -> Option<Object<'a>> {
        let raw: BTreeMap<String, &'a RawValue> = serde_json::from_str(self.text).ok()?;
        let node = |raw: &'a RawValue| Node { text: raw.get(), root: self.root };
        Some(Object { entries: raw.into_iter().map(|(key, raw)| (key, node(raw))).into_map() })
    }

    /// Its elements, if it is a list.
    pub fn list(self) -> Vec<Node<'a>> {
        let raw: Vec<&'a RawValue> = serde_json::from_str(self.text).unwrap_or_default();
        raw.into_iter().map(|raw| Node { text: raw.get(), root: self.root }).collect()
    }

    /// Its text, if it is a string.
    pub fn words(self) -> Option<String> {
        let text: String = serde_json::from_str(self.text).ok()?;
        Some(text.chars().take(WORDS_MAX).collect())
    }

    /// Its value, if it is true or false.
    pub fn flag(self) -> Option<bool> {
        serde_json::from_str(self.text).ok()
    }

    /// A number in a unit, rounded to its digits.
    pub fn scaled(self, scale: f64) -> Option<Figure> {
        Some(scaled(self.digits()?, scale, self.line(), self.text))
    }

    /// A number: exact if it is whole, otherwise rounded to its digits.
    pub fn count(self) -> Option<Figure> {
        let digits = self.digits()?;
        if digits.is_whole {
            Some(Figure::exact(digits.value, self.line()))
        } else {
            self.scaled(1.0)
        }
    }

    /// Its digits, if it is a number, or what is none in quotes: Java writes `"NaN"`.
    fn digits(self) -> Option<Digits<'a>> {
        let quoted = || self.text.strip_prefix('"')?.strip_suffix('"');
        let unreal = || digits(quoted()?).filter(|digits| !digits.value.is_finite());
        digits(self.text).or_else(unreal).filter(|digits| digits.rest.is_empty())
    }

    /// Number of its line, from 1.
    fn line(self) -> u64 {
        let at = (self.text.as_ptr() as usize).saturating_sub(self.root.as_ptr() as usize);
        let before = self.root.as_bytes().get(..at).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count() as u64
    }
}

/// A text in which what JSON has no word for is in quotes: Python writes `NaN`, `-Infinity`.
pub fn with_quotes(text: &str) -> Option<String> {
    let (mut quoted, mut rest, mut is_changed) = (String::new(), text, false);
    while let Some(at) = ["NaN", "Infinity", "-Infinity"].iter().filter_map(|w| rest.find(w)).min()
    {
        let end = rest[at..].find(|char: char| !(char.is_alphabetic() || char == '-'));
        let end = at + end.unwrap_or(rest.len() - at);
        let is_value = rest[..at].trim_end().ends_with([':', ',', '[']);
        quoted.push_str(&rest[..at]);
        match is_value {
            true => quoted.extend(["\"", &rest[at..end], "\""]),
            false => quoted.push_str(&rest[at..end]),
        }
        (rest, is_changed) = (&rest[end..], is_changed || is_value);
    }
    quoted.push_str(rest);
    is_changed.then_some(quoted)
}

/// The most characters of a text that are kept.
const WORDS_MAX: usize = 2000;

impl<'a> Object<'a> {
    /// An entry.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        self.entries.get(key).copied()
    }

    /// An entry that is an object.
    pub fn object(&self, key: &str) -> Option<Object<'a>> {
        self.get(key)?.object()
    }

    /// An entry that is a count.
    pub fn count(&self, key: &str) -> Option<Figure> {
        self.get(key)?.count()
    }

    /// An entry that is a number in a unit.
    pub fn scaled(&self, key: &str, scale: f64) -> Option<Figure> {
        self.get(key)?.scaled(scale)
    }

    /// An entry that is true or false.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.flag()
    }

    /// An entry that is a text.
    pub fn words(&self, key: &str) -> Option<String> {
        self.get(key)?.words()
    }

    /// Whether it has all of these entries.
    pub fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.entries.contains_key(*key))
    }

    /// All entries in the order of their keys.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Node<'a>)> {
        self.entries.iter().map(|(key, node)| (key.as_str(), *node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_line_and_their_digits() {
        let text = "{\n \"a\": {\n  \"p\": 0.436, \"n\": 12 },\n \"b\": \"x\", \"c\": [1, 2.5]\n}";
        let root = Node::root(text).unwrap().object().unwrap();
        let a = root.object("a").unwrap();
        let p = a.scaled("p", 1e-3).unwrap();
        assert_eq!((p.line, p.printed.as_str()), (3, "0.436"));
        assert!((p.high - 0.000_437).abs() < 1e-12 && (p.low - 0.000_435).abs() < 1e-12);
        assert_eq!(a.count("n").unwrap(), Figure::exact(12.0, 3));
        assert_eq!(root.words("b").as_deref(), Some("x"));
        assert_eq!(root.get("c").unwrap().list().len(), 2);
        assert!(root.scaled("b", 1.0).is_none() && root.object("c").is_none());
    }

    #[test]
    fn what_json_has_no_word_for_is_read() {
        let text = with_quotes("{\"a\": NaN, \"b\": [-Infinity, 1], \"c\": \"a NaN\"}").unwrap();
        let root = Node::root(&text).unwrap().object().unwrap();
        assert!(root.scaled("a", 1e-3).unwrap().value.is_nan());
        assert_eq!(root.get("b").unwrap().list()[0].count().unwrap().value, f64::NEG_INFINITY);
        assert_eq!(root.words("c").as_deref(), Some("a NaN"));
        assert_eq!(with_quotes("{\"a\": \"NaN\"}"), None);
    }

    #[test]
    fn what_is_no_document_is_none() {
        for text in ["", "{", "[1", "{\"a\":1} x", "\u{0}"] {
            assert!(Node::root(text).is_none(), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(Node::root(&deep).is_none());
    }
}
