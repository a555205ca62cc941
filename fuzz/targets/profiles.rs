//! Arbitrary profiles of a server and output of perf never cause a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::profiles::hold(bytes));
