//! The language of references and conditions: paths to figures, arithmetic with intervals, and
//! comparisons that are true, false or undecided.
//!
//! In: texts, and a lookup of figures ([`Figures`]). Out: values, decisions, texts that are
//! filled. Never: a file.

mod condition;
mod expression;
mod path;
mod quantity;
mod read;
mod reference;
mod shown;
mod words;

pub use condition::{Condition, Decision, Truth};
pub use expression::{Expression, Fault};
pub use path::Path;
pub use quantity::{Basis, Quantity, Value};
pub use reference::{Filled, Piece, filled, plain};
pub use shown::shown_value;

/// A lookup of figures.
pub trait Figures {
    /// The value at a path. The error says in one line what exists instead.
    fn find(&self, path: &Path) -> Result<Value, String>;
}

#[cfg(test)]
mod tests;
