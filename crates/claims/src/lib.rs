//! What must hold for any bytes: one module for each fuzz target.
//!
//! `make fuzz` looks for bytes for which a claim does not hold, with every crate instrumented. Here
//! the same claims are built as all other code is, and held against the seeds in every `make test`.

pub mod http1_oracle;
pub mod http1_pieces;
pub mod probe_parsers;
pub mod profiles;
pub mod remote_frames;
pub mod simulation;
pub mod sse_pieces;
pub mod typed_values;
