//! Whatever arrives at either end of the line to a probe, in any pieces, never panics, and what is
//! understood means the same when it is said again.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::remote_frames::hold(bytes));
