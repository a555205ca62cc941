//! Profiles of a server and the text of perf, whatever they hold, never panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::profiles::hold(bytes));
