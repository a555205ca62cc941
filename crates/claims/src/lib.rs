//! What must hold for any bytes that others wrote.
//!
//! What this room is for: one module for each fuzz target, with what its bytes must never break.
//! `make fuzz` looks for such bytes, with every crate instrumented; in every `make test` the claims
//! are built as all other code is, and held against the seeds.
//! In: bytes.
//! Out: nothing, or a panic.
//! Never: a file, a socket or a clock.

pub mod archives;
pub mod fleet_messages;
pub mod foreign_outputs;
pub mod http1_oracle;
pub mod http1_pieces;
pub mod nats_protocol;
pub mod probe_parsers;
pub mod profiles;
pub mod remote_frames;
pub mod simulation;
pub mod sse_pieces;
pub mod typed_values;
