//! Refuses to change a machine unless it is a virtual machine of `scripts/vm`, or the user says
//! that it may be changed.

#![allow(unsafe_code, reason = "a function that is called before main")]

use std::fs;
use std::process;

/// Set it to allow the tests to change the machine they run on.
const HERE: &str = "CEILING_TEST_HOST_HERE";

/// Runs before `main`, so that no test can skip the check.
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
        "these tests change the machine they run on, and this is not a virtual machine of \
         scripts/vm: run them with make test-host, or set {HERE}=1 if this machine may be changed"
    );
    process::exit(2);
}
