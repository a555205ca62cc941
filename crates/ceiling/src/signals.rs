//! Signals: the first asks for an orderly end; the second ends the program at once, unless that
//! would leave a server or a host changed.

#![allow(unsafe_code, reason = "signal handlers")]

use crate::exit::{Code, Failure};
use rustix::fd::AsFd;
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;
use std::ffi::c_int;
use std::io::{Error, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const BEING_PUT_BACK: &[u8] = b"\nceiling: putting back what was changed, then exiting\n";

/// The reaction to a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// The run sees the flag and ends in order.
    Wait,
    /// The run sees the flag and ends in order, and a message says why the program does not end at
    /// once.
    Tell,
    /// The program ends now.
    End,
}

/// A signal this close behind the first is the same one, nanoseconds: timeout(1) sends it to the
/// process and then to its group, and a shell may, too.
const SAME_NS: u64 = 500_000_000;

/// Counts signals.
#[derive(Debug, Default)]
struct SignalCounts {
    stop: Arc<AtomicBool>,
    /// When the first came, monotonic nanoseconds.
    first_ns: AtomicU64,
    is_explained: AtomicBool,
}

impl SignalCounts {
    fn act(&self, is_touched: bool, now_ns: u64) -> Act {
        if !self.stop.swap(true, Ordering::SeqCst) {
            self.first_ns.store(now_ns, Ordering::SeqCst);
            return Act::Wait;
        }
        if now_ns.saturating_sub(self.first_ns.load(Ordering::SeqCst)) < SAME_NS {
            return Act::Wait;
        }
        match (is_touched, is_touched && self.is_explained.swap(true, Ordering::SeqCst)) {
            (false, _) => Act::End,
            (true, false) => Act::Tell,
            (true, true) => Act::Wait,
        }
    }
}

/// A flag that the first signal sets, so that the run ends in order; the second signal ends the
/// program at once. While an experiment has changed a server or a host, the second signal does not:
/// the run puts the change back and ends.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let asked = Arc::new(SignalCounts::default());
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        handle(signal, &asked)
            .map_err(|error| Failure::File(format!("cannot handle signals: {error}")))?;
    }
    Ok(Arc::clone(&asked.stop))
}

/// A flag that every signal sets; no signal ends the program at once. For short work that must
/// finish in order.
pub fn patient_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::File(format!("cannot handle signals: {error}")))?;
    }
    Ok(stop)
}

/// Monotonic; a signal handler may ask for it.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Whether there is a change that an orderly end puts back.
fn is_changed() -> bool {
    tune::is_changed() || stage::is_turned()
}

#[allow(clippy::disallowed_methods, reason = "a handler makes system calls only")]
fn handle(signal: c_int, asked: &Arc<SignalCounts>) -> Result<(), Error> {
    let asked = Arc::clone(asked);
    let handler = move || match asked.act(is_changed(), now_ns()) {
        Act::Wait => {}
        Act::Tell => {
            // A closed stderr changes nothing.
            let _ = rustix::io::write(stderr().as_fd(), BEING_PUT_BACK);
        }
        Act::End => {
            live::terminal::give_back();
            low_level::exit(Code::Interrupted as c_int);
        }
    };
    // SAFETY: the handler does what a signal handler may: atomic operations, write(2) without a
    // lock or a buffer, ioctl(2) on the terminal, and _exit(2). It allocates nothing and cannot
    // panic.
    unsafe { low_level::register(signal, handler) }.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_signal_ends_at_once_unless_a_server_is_changed() {
        let asked = SignalCounts::default();
        assert_eq!(asked.act(false, 7), Act::Wait);
        assert!(asked.stop.load(Ordering::SeqCst));
        assert_eq!(asked.act(false, 7 + SAME_NS / 2), Act::Wait, "the same signal to the group");
        assert_eq!(asked.act(false, 7 + SAME_NS), Act::End);

        let asked = SignalCounts::default();
        let acts = [0, 1, 2, 3].map(|second| asked.act(true, second * 1_000_000_000));
        assert_eq!(acts, [Act::Wait, Act::Tell, Act::Wait, Act::Wait], "reported once");
        assert_eq!(asked.act(false, 4_000_000_000), Act::End, "nothing is changed any more");
    }
}
