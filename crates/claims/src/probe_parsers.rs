//! Kernel text and netlink messages, whatever they hold, never panic a parser.

/// Ends with a panic where one of them does not hold.
pub fn hold(bytes: &[u8]) {
    probe::fuzzing::parse_as_everything(bytes);
}
