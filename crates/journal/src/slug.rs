//! The name of an entry, which is also the name of its folder and of its page.

use serde::{Serialize, Serializer};
use std::fmt;

/// Most characters of a name.
const LETTERS_MAX: usize = 64;

/// The name of an entry: at most 64 small letters, digits and hyphens, not starting with a hyphen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(String);

impl Slug {
    /// Reads a name. The error says what is accepted, with an example.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = (1..=LETTERS_MAX).contains(&text.len());
        let begins = text.bytes().next().is_some_and(is_plain);
        if fits && begins && text.bytes().all(|byte| is_plain(byte) || byte == b'-') {
            return Ok(Self(text.to_string()));
        }
        Err(format!(
            "'{text}' is not the name of an entry, which is at most {LETTERS_MAX} small letters, \
             digits and hyphens; for example gzip-helps"
        ))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A title for an entry without one: `gzip-helps` is `Gzip helps`.
    pub fn title(&self) -> String {
        let words = self.0.replace('-', " ");
        let mut letters = words.trim().chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Slug {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders_and_nothing_else() {
        for text in ["a", "0", "gzip-helps", "06b-irq", &"a".repeat(64)] {
            assert_eq!(Slug::parse(text).unwrap().as_str(), text);
        }
        for text in ["", "-a", "A", "a/b", "..", "a.b", "a_b", "é", "a b", &"a".repeat(65)] {
            let said = Slug::parse(text).unwrap_err();
            assert!(said.contains("for example"), "{said}");
        }
    }

    #[test]
    fn a_name_makes_a_title() {
        assert_eq!(Slug::parse("gzip-helps").unwrap().title(), "Gzip helps");
        assert_eq!(Slug::parse("2-cpus").unwrap().title(), "2 cpus");
    }
}
