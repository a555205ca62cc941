//! Arbitrary bytes at either end of a probe's connection, in any pieces, never cause a panic, and
//! an accepted message survives re-encoding.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::remote_frames::hold(bytes));
