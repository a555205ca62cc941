//! Arbitrary types of a kernel never cause a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::kernel_types::hold(bytes));
