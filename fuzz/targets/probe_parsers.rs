//! Kernel text and netlink messages, whatever they hold, never panic a parser.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::probe_parsers::hold(bytes));
