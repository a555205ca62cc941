//! What is wrong with what a user asked for.

use crate::url::UrlError;

/// What is wrong, what is accepted, an example: one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// Why no trial could be made from what a user asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What was asked for is wrong.
    #[error(transparent)]
    Usage(#[from] Usage),
    /// The name of the server has no address.
    #[error("{0}")]
    NoAddress(String),
}

impl From<&str> for Refusal {
    fn from(text: &str) -> Self {
        Self::Usage(text.into())
    }
}

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
