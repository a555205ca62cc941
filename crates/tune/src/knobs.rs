//! The registry: every knob, one file each, all of one shape.
//!
//! To add one, write its file and its line here. The header of the file says what people need to
//! know, under the same words in each: docs/reference/knobs.md is made of it.

mod t05;
mod t29;

use crate::knob::Knob;

/// Every knob, in the order of the catalogue.
pub const REGISTRY: &[&Knob] = &[&t05::KNOB, &t29::KNOB];
