//! Target files, templates and weights, as requests in sending order.
//!
//! Weighted targets become one period of requests before the run. Nothing here opens a file by
//! itself, or takes more memory than allowed.

mod compose;
pub mod file;
mod interleave;
pub mod template;

pub use compose::{BYTES_MAX, Recipe, compose};
pub use template::has_placeholder;

/// Why something cannot be sent. Its text is complete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MixError(pub String);

/// Reads a file by name, whole; on failure the reason in words.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;
