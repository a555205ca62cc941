//! Any split of what a server of HTTP/2 sends gives the same outcomes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::http2_pieces::hold(bytes));
