//! Whatever a broker sends means the same in any pieces and never panics; and what passes as a name
//! in the protocol cannot end a line of it.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::nats_protocol::hold(bytes));
