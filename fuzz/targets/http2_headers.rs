//! Header blocks mean what another decoder of HPACK says.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::http2_headers::hold(bytes));
