//! Knobs and places on the kernel that is there; most need root, for a namespace of their own.

mod masks;
mod namespace;
mod places;
