//! Archives, signatures and keys of SSH, whatever they hold, never panic, and no name of an archive
//! that is read leads out of its folder.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| claims::archives::hold(bytes));
