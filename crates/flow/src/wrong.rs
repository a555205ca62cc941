//! What is wrong with a file, and where.

/// Why a file is no flow: the line, what is wrong, what is accepted or the way round.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Wrong {
    /// Line of the file, from 1.
    pub line: u32,
    /// What is wrong with it, and what to write.
    pub what: String,
}

impl Wrong {
    /// For a line.
    pub(crate) fn at(line: u32, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}
