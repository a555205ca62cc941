//! Any file is a flow or has an error, and what is written from requests of others is a flow.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::flows::hold(bytes));
