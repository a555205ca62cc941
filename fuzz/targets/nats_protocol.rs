//! Arbitrary bytes of a broker give the same result in any pieces and never cause a panic; and a
//! string accepted as a name in the protocol cannot end a line of it.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::nats_protocol::hold(bytes));
