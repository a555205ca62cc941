//! Arbitrary kernel text and netlink messages never cause a panic in a parser.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::probe_parsers::hold(bytes));
