//! Server profiles and the text of perf never cause a panic, whatever they contain.

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    profile::fuzzing::profiles(bytes);
}
