//! What this room is for: the figures of a point, how far each is known, and whether it meets a
//! bound.
//!
//! In: a point as measured, with the standing that gates left to each figure. Out: values. Never:
//! IO, a screen, a wall.

mod point;
mod value;

pub use point::{connect_time, value_of};
pub use value::Value;
