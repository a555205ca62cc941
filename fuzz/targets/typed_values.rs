//! What people type and what files hold never panics, and is bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::typed_values::hold(bytes));
