//! Heads are parsed as an independent parser parses them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::http1_oracle::hold(bytes));
