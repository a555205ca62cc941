//! A server reads the requests that were asked.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::http2_requests::hold(bytes));
