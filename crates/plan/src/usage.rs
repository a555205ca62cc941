//! What is wrong with what a person asked for.

use crate::url::UrlError;

/// What is wrong, what is accepted, an example: one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

impl From<UrlError> for Usage {
    fn from(error: UrlError) -> Self {
        Self(error.to_string())
    }
}

impl From<&str> for Usage {
    fn from(text: &str) -> Self {
        Self(text.to_string())
    }
}
