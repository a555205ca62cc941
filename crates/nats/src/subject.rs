//! Subjects, under which messages are published.

use std::fmt;
use std::str::FromStr;

/// Longest subject in bytes.
const BYTES_MAX: usize = 255;

/// A text that is not a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a subject: words of letters, digits, - and _, with dots between them; for \
     example ceiling.fleet.hello"
)]
pub struct SubjectError(String);

/// A subject, or a pattern of subjects in which `*` stands for one word.
///
/// It contains no character that would end a line or a word of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(String);

impl Subject {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Subject {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, SubjectError> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_word = |word: &str| word == "*" || (!word.is_empty() && word.bytes().all(is_letter));
        let is_right = text.len() <= BYTES_MAX && text.split('.').all(is_word);
        // A text from the network may be long.
        let shown = || text.chars().take(80).collect::<String>().escape_debug().to_string();
        is_right.then(|| Self(text.to_string())).ok_or_else(|| SubjectError(shown()))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_dots_between_are_subjects() {
        for right in ["a", "ceiling.fleet.hello", "ceiling.f.agent.*.up", "A-1_b.c"] {
            assert_eq!(right.parse::<Subject>().unwrap().as_str(), right);
        }
        let long = "a".repeat(BYTES_MAX + 1);
        for wrong in ["", ".", "a.", ".a", "a..b", "a b", "a\r\nPUB x 0", "a.>", "a*", "ä", &long]
        {
            assert!(wrong.parse::<Subject>().is_err(), "{wrong}");
        }
    }
}
