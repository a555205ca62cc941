//! Arbitrary plans and command lines never cause a panic, and need trust for what they reach.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::plans::hold(bytes));
