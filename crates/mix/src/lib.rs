//! Makes requests from what users write.
//!
//! What this room is for: reading target files, expanding templates, and interleaving weighted
//! targets into one period of requests, all before the run. In: text, a seed, a function that reads
//! files. Out: targets and requests in sending order, or one line that says what is wrong, what is
//! accepted and an example. Never: sockets, a clock, a file opened by itself, more memory than
//! allowed.

pub mod file;

pub mod template;

mod compose;
mod interleave;

pub use template::has_placeholder;

pub use compose::{BYTES_MAX, Composed, REQUESTS_MAX, Recipe, compose};

/// Why something cannot be sent. Its text is complete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MixError(pub String);

/// Reads a file by name, whole; on failure the reason in words.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;
