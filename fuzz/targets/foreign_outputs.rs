//! Output of other tools is read and audited without a panic, and every outcome has its reason.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::foreign_outputs::hold(bytes));
