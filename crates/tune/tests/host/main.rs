//! Knobs and places on the kernel that is there, as root: `make test-host`.

#[path = "../bitmap/mod.rs"]
mod bitmap;
#[path = "../../../ceiling/tests/harness/spare.rs"]
mod spare;

mod kernel;
mod masks;
mod namespace;
mod places;
mod shared;
