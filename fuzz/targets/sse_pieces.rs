//! Any split of any stream of events gives the same result, and numbers are those that serde reads.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::sse_pieces::hold(bytes));
