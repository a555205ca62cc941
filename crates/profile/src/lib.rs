//! Profiles of a server, from the bytes of a runtime or `perf` to the figures of a page.
//!
//! What this room is for: reading and writing pprof, reading the text of `perf script`, merging
//! samples over processes, and weighing functions and waits.
//! In: bytes, hostile until parsed; the rate and the requests in flight of the visit. Out: samples,
//! files in pprof format, and their part of the record.
//! Never: a connection, a process, a clock, or a panic on foreign input.

pub mod pprof;

pub mod perf;

mod samples;
pub use samples::{Samples, Spot, Stack, TooDeep};

mod weigh;
pub use weigh::{Weight, merged};

mod waits;

#[doc(hidden)]
pub mod fuzzing;
