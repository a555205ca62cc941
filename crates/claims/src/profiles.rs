//! Profiles of a server and the text of perf, whatever they hold, never panic.

/// Ends with a panic where one of them does not hold.
pub fn hold(bytes: &[u8]) {
    profile::fuzzing::profiles(bytes);
}
