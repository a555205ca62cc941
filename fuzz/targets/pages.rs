//! Documents that others wrote or damaged are drawn without a panic, and in bounded space.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::pages::hold(bytes));
