//! Arbitrary archives never cause a panic, and no accepted name in an archive leads out of its
//! folder.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::archives::hold(bytes));
