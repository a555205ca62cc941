//! What several runs say together.
//!
//! What this room is for: comparing the visits of an experiment, two experiments, and two runs:
//! medians of cells, contrasts with intervals, effects of factors, drift, outliers, and what was
//! predicted beside what came.
//! In: runs that were judged, or their figures, and the design of an experiment. Out: the parts of
//! its record that follow from all visits, and decisions about bounds. The same input gives the
//! same output.
//! Never: IO, a clock, randomness without a seed; a verdict about one run, which [`judge`] gives.

pub mod across;
pub mod compare;
pub mod experiment;
pub mod prediction;

mod comparison;
pub mod contrast;
mod course;
mod effects;
mod levels;
mod outliers;
mod settings;
mod visited;
