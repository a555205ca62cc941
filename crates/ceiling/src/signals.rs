//! Signals: the first asks for an orderly end; the second ends the program at once, unless that
//! would leave a server or a host changed.

#![allow(unsafe_code, reason = "signal handlers")]

use crate::exit::{Code, Failure};
use rustix::fd::AsFd;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;
use std::ffi::c_int;
use std::io::{Error, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const BEING_PUT_BACK: &[u8] = b"\nceiling: putting back what was changed, then exiting\n";

/// The reaction to a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// The run sees the flag and ends in order.
    Wait,
    /// The same, and a message says why the program does not end at once.
    Tell,
    /// The program ends now.
    End,
}

/// Counts signals.
#[derive(Debug, Default)]
struct SignalCounts {
    stop: Arc<AtomicBool>,
    told: AtomicBool,
}

impl SignalCounts {
    fn act(&self, is_touched: bool) -> Act {
        if !self.stop.swap(true, Ordering::SeqCst) {
            return Act::Wait;
        }
        match (is_touched, is_touched && self.told.swap(true, Ordering::SeqCst)) {
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

/// Whether there is a change that an orderly end puts back.
fn is_changed() -> bool {
    tune::is_changed() || lab::experiment::is_turned()
}

fn handle(signal: c_int, asked: &Arc<SignalCounts>) -> Result<(), Error> {
    let asked = Arc::clone(asked);
    let handler = move || match asked.act(is_changed()) {
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
        assert_eq!(asked.act(false), Act::Wait);
        assert!(asked.stop.load(Ordering::SeqCst));
        assert_eq!(asked.act(false), Act::End);

        let asked = SignalCounts::default();
        let acts = [true, true, true, true].map(|is_touched| asked.act(is_touched));
        assert_eq!(acts, [Act::Wait, Act::Tell, Act::Wait, Act::Wait], "reported once");
        assert_eq!(asked.act(false), Act::End, "nothing is changed any more");
    }
}
