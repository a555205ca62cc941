//! A network namespace with its own `/sys`, which ends with the thread that made it.

#![allow(unsafe_code, reason = "a separate network namespace")]

use std::io;
use std::process::Command;
use std::ptr;

/// Runs `test` where `v0` is a pair of virtual devices with four queues each way.
pub fn with_four_queues(test: impl FnOnce() + Send) {
    let queues = "numrxqueues 4 numtxqueues 4";
    let line = format!(
        "ip link add v0 {queues} type veth peer name v1 {queues} && \
         ip link set v0 up && ip link set v1 up"
    );
    std::thread::scope(|scope| {
        let run = || {
            enter().unwrap_or_else(|error| panic!("it takes root to make a namespace: {error}"));
            assert!(shell(&line), "no virtual devices with four queues here");
            test();
        };
        scope.spawn(run).join().expect("the test in the namespace");
    });
}

/// Runs a line of a shell, in the namespaces of the calling thread.
pub fn shell(line: &str) -> bool {
    Command::new("sh").args(["-c", line]).status().expect("run sh").success()
}

/// `/sys/class/net` shows the namespace in which it was mounted, so it is mounted again, visible
/// only to this process.
fn enter() -> io::Result<()> {
    let done = |result: i32| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: unshare takes no pointers, and moves this thread only.
    done(unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) })?;
    let (private, nothing) = (libc::MS_REC | libc::MS_PRIVATE, ptr::null());
    // SAFETY: the texts end with a zero; the kernel reads no other pointer for this change.
    done(unsafe { libc::mount(nothing, c"/".as_ptr(), ptr::null(), private, ptr::null()) })?;
    let (kind, at) = (c"sysfs".as_ptr(), c"/sys".as_ptr());
    // SAFETY: the texts end with a zero, and sysfs takes no options.
    done(unsafe { libc::mount(kind, at, kind, 0, ptr::null()) })
}
