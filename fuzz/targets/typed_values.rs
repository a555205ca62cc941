//! Arbitrary user input and file contents never cause a panic, and results are bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::typed_values::hold(bytes));
