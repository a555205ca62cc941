//! Archives never cause a panic, whatever they contain, and no name in an accepted archive leads
//! out of its folder. Nor do archives of runs, whatever their files contain.

/// Panics if a property does not hold.
pub fn hold(bytes: &[u8]) {
    pack::fuzzing::any(bytes);
    journal::fuzzing::any(bytes);
}
