//! A finding: what is wrong with a line, and what to do instead.

use std::fmt;

/// A finding of a check. It requires advice: a finding without advice is not worth printing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the root of the repository, with forward slashes.
    pub path: String,
    /// Line, from 1. A finding about the whole file has line 1.
    pub line: usize,
    /// What is wrong.
    pub wrong: String,
    /// What to do instead.
    pub instead: String,
}

impl Finding {
    /// A finding at one line of a file.
    pub fn new(
        path: &str,
        line: usize,
        wrong: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self { path: path.to_owned(), line, wrong: wrong.into(), instead: instead.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.wrong, self.instead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_place_fault_and_advice() {
        let finding = Finding::new("a/b.rs", 7, "this is wrong", "do that");
        assert_eq!(finding.to_string(), "a/b.rs:7: this is wrong; do that");
    }
}
