//! Any split of any bytes gives the same result, with and without learned shapes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::http1_pieces::hold(bytes));
