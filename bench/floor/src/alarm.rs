//! The end of the load, by a signal.
//!
//! Reading a clock once per turn would cost more than counting does. The signal also interrupts a
//! wait that nothing else would end.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static RANG: AtomicBool = AtomicBool::new(false);

extern "C" fn ring(_signal: libc::c_int) {
    RANG.store(true, Ordering::Relaxed);
}

/// Whether the time is over.
#[inline]
pub fn rang() -> bool {
    RANG.load(Ordering::Relaxed)
}

/// Starts the time.
pub fn set(duration: Duration) -> io::Result<()> {
    let value = libc::timeval {
        tv_sec: duration.as_secs() as libc::time_t,
        tv_usec: libc::suseconds_t::from(duration.subsec_micros()),
    };
    // Repeatedly: a signal just before a wait must not leave it waiting.
    let again = libc::timeval { tv_sec: 0, tv_usec: 10_000 };
    let timer = libc::itimerval { it_interval: again, it_value: value };
    // SAFETY: the handler only stores to an atomic, and both structures outlive their calls.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ring as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
