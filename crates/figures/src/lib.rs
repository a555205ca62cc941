//! What this room is for: the figures of a point, what each means, how far it is known, and whether
//! it meets a bound.
//!
//! In: a point as measured, with the standing that gates left to each figure. Out: values. Never:
//! IO, a screen, a wall.

pub mod book;
mod definitions;
mod point;
mod value;
pub mod visit;

pub use definitions::definitions;
pub use point::{value_in, value_of};
pub use value::Value;
