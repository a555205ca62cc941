//! The types of a kernel never cause a panic, and looking them up ends, whatever they contain.

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    kernel::fuzzing::types(bytes);
}
