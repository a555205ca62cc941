//! The whole worker against a server with arbitrary faults: requests are conserved.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::simulation::hold(bytes));
