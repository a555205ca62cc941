//! Only a machine to spare is changed: a virtual one of `scripts/vm`, or one that is said to be.

#![allow(unsafe_code, reason = "a function that is called before main")]

use std::fs;
use std::process;

/// Whoever sets it says that the tests may change the machine they run on.
const HERE: &str = "CEILING_TEST_HOST_HERE";

/// Before `main`, so that no test can forget to ask.
// SAFETY: the section holds pointers to functions that take nothing and are called once.
#[used]
#[unsafe(link_section = ".init_array")]
static ASKED: extern "C" fn() = ask;

extern "C" fn ask() {
    let is_of_vm = fs::read_to_string("/proc/cmdline").is_ok_and(|text| text.contains("vm.name="));
    let only_lists = std::env::args().any(|word| word == "--list");
    if is_of_vm || only_lists || std::env::var_os(HERE).is_some_and(|value| value == "1") {
        return;
    }
    eprintln!(
        "these tests change the machine they run on, and this is no virtual one of scripts/vm: \
         run them by make test-host, or set {HERE}=1 if this machine may be changed"
    );
    process::exit(2);
}
