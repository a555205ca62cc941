//! Archives, signatures and keys of SSH, whatever they hold, never panic, and no name of an archive
//! that is read leads out of its folder.

/// Ends with a panic where one of them does not hold.
pub fn hold(bytes: &[u8]) {
    pack::fuzzing::any(bytes);
}
