//! Properties that must hold for any bytes from outside.
//!
//! What this room is for: one module per fuzz target, with the properties that its bytes must never
//! break. `make fuzz` searches for such bytes with every crate instrumented; every `make test`
//! builds the claims like all other code and runs them on the seeds.
//! In: bytes.
//! Out: nothing, or a panic.
//! Never: a file, a socket or a clock.

pub mod archives;
pub mod fleet_messages;
pub mod flows;
pub mod foreign_outputs;
pub mod http1_oracle;
pub mod http1_pieces;
pub mod http2_headers;
pub mod http2_pieces;
pub mod http2_requests;
pub mod kernel_types;
pub mod nats_protocol;
pub mod pages;
pub mod plans;
pub mod probe_parsers;
pub mod profiles;
pub mod remote_frames;
pub mod simulation;
pub mod sse_pieces;
pub mod typed_values;
