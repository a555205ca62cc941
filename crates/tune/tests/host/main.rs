//! Knobs and places on the running kernel, as root: `make test-host`.

#[path = "../bitmap/mod.rs"]
mod bitmap;
#[path = "../../../ceiling/tests/harness/spare.rs"]
mod spare;

mod kernel;
mod masks;
mod namespace;
mod places;
mod shared;
mod timers;
