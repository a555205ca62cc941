//! A next step: what would decide an open question, or go further.

use crate::shell;
use serde::{Deserialize, Serialize};

/// A next step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A command of ours: its words, with masks in the place of secrets.
    Command(Vec<String>),
    /// Anything else to do, in words.
    Advice(String),
}

impl Step {
    /// A command of ours, by its words without the name of the program.
    pub fn command<S: Into<String>>(words: impl IntoIterator<Item = S>) -> Self {
        let words = words.into_iter().map(Into::into);
        Self::Command(std::iter::once("ceiling".to_string()).chain(words).collect())
    }

    /// Whether it can be pasted into a shell.
    pub fn is_command(&self) -> bool {
        matches!(self, Self::Command(_))
    }

    /// The text that people read: a command as it is typed in a shell.
    pub fn text(&self) -> String {
        match self {
            Self::Command(words) => shell::line(words),
            Self::Advice(text) => text.clone(),
        }
    }
}

impl From<String> for Step {
    fn from(advice: String) -> Self {
        Self::Advice(advice)
    }
}

impl From<&str> for Step {
    fn from(advice: &str) -> Self {
        Self::Advice(advice.to_string())
    }
}
