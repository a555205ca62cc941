//! Children that do not outlive this process.

#![allow(unsafe_code, reason = "a child between fork and exec")]

use rustix::process::Signal;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the kernel send a signal to a child when we end, for whatever reason.
pub fn end_with_us(command: &mut Command, signal: Signal) {
    let parent = rustix::process::getpid();
    let prepare = move || {
        rustix::process::set_parent_process_death_signal(Some(signal))?;
        if rustix::process::getppid() != Some(parent) {
            // The parent ended in between, so no signal will come.
            return Err(io::Error::from(rustix::io::Errno::CHILD));
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only; it neither allocates nor
    // takes a lock.
    unsafe { command.pre_exec(prepare) };
}
