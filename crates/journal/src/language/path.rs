//! A path to a figure: names separated by dots.

use serde::{Serialize, Serializer};
use std::fmt;

/// A path to a figure, such as `cells.'as it is'.rate`, with at least one name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<String>);

/// Whether a character may be in a name without quotes.
pub fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

impl Path {
    /// The path with these names.
    pub fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Its names.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// The word, when it is a single name.
    pub fn word(&self) -> Option<&str> {
        match &self.0[..] {
            [word] => Some(word),
            _ => None,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            let is_inner = |letter: char| is_of_name(letter) || letter == '-';
            let is_plain = name.starts_with(is_of_name)
                && name.ends_with(is_of_name)
                && name.chars().all(is_inner)
                && !name.contains("--");
            match () {
                () if is_plain => f.write_str(name)?,
                () if name.contains('\'') => write!(f, "\"{name}\"")?,
                () => write!(f, "'{name}'")?,
            }
        }
        Ok(())
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}
