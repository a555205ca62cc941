//! Knobs and places on the kernel that is there; most need root, for a namespace of their own.

mod kernel;
mod masks;
mod namespace;
mod places;
mod shared;
