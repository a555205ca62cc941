//! Arbitrary messages of an agent or a controller never cause a panic, and an accepted message has
//! one meaning.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::fleet_messages::hold(bytes));
