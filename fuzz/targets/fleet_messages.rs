//! Whatever an agent or a controller sends, neither end panics, and what is understood means one
//! thing.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::fleet_messages::hold(bytes));
