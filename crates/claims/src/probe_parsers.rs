//! Kernel text and netlink messages never make a parser panic, whatever they contain.

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    probe::fuzzing::parse_as_everything(bytes);
}
