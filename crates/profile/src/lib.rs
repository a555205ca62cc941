//! Profiles of a server, from the bytes that a runtime or `perf` gives to what a page says.
//!
//! What this room is for: reading and writing pprof, reading the text of `perf script`, merging
//! samples over processes, and weighing functions and waits.
//! In: bytes, hostile until parsed; the rate and the requests in flight of the visit. Out: samples,
//! files in pprof format, and what of them goes into the record.
//! Never: a connection, a process, a clock, or a panic on what others wrote.

pub mod pprof;

pub mod perf;

mod samples;
pub use samples::{Samples, Spot, Stack, TooDeep};

mod weigh;
pub use weigh::{Weight, merged};

mod waits;

#[doc(hidden)]
pub mod fuzzing;
