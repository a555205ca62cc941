//! Heads mean what an independent parser says they mean.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::http1_oracle::hold(bytes));
