//! The dead-man's switch: load ends when its lease is over, whatever else of the agent hangs.
//!
//! It is a thread of its own that reads one number and the monotonic clock. First it asks the load
//! to end. When the load has not ended soon after, it ends the process: the kernel closes every
//! connection of it.

use crate::error::AgentsError;
use engine::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// No load, so no end of it.
const NEVER: u64 = u64::MAX;
/// How often the clock is read.
const LOOK: Duration = Duration::from_millis(20);
/// How long after the lease the load may take to end in order, nanoseconds. With the lease it is
/// below the two seconds that a fleet promises.
const ORDERLY_NS: u64 = 400_000_000;

/// What a load and the switch share.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    until_ns: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    is_loading: Arc<AtomicBool>,
}

/// What the switch does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Nothing,
    Stop,
    End,
}

impl Switch {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Self, AgentsError> {
        let switch = Self {
            until_ns: Arc::new(AtomicU64::new(NEVER)),
            stop: Arc::default(),
            is_loading: Arc::default(),
        };
        let watched = switch.clone();
        let watch = move || {
            loop {
                match watched.act(clock::now_ns()) {
                    Act::Nothing => {}
                    Act::Stop => watched.stop.store(true, Ordering::SeqCst),
                    Act::End => std::process::abort(),
                }
                thread::sleep(LOOK);
            }
        };
        let thread = thread::Builder::new().name("lease".to_string()).spawn(watch);
        thread.map(|_| switch).map_err(AgentsError::Thread)
    }

    fn act(&self, now_ns: u64) -> Act {
        let until_ns = self.until_ns.load(Ordering::SeqCst);
        if !self.is_loading.load(Ordering::SeqCst) || now_ns <= until_ns {
            Act::Nothing
        } else if now_ns - until_ns <= ORDERLY_NS {
            Act::Stop
        } else {
            Act::End
        }
    }

    /// Load may go on until then. Without an instant the last one holds.
    pub(crate) fn renew(&self, until_ns: Option<u64>) {
        if let Some(until_ns) = until_ns {
            self.until_ns.store(until_ns, Ordering::SeqCst);
        }
    }

    /// A load begins. It must end when the flag is set.
    pub(crate) fn begun(&self) -> Arc<AtomicBool> {
        self.stop.store(false, Ordering::SeqCst);
        Arc::clone(&self.stop)
    }

    /// Set by whoever makes the load, while its workers may send.
    pub(crate) fn is_loading(&self) -> &AtomicBool {
        &self.is_loading
    }

    /// Asks the load to end now.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// No worker sends any more.
    pub(crate) fn ended(&self) {
        self.is_loading.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_asked_to_end_and_then_ended() {
        let switch = Switch {
            until_ns: Arc::new(AtomicU64::new(NEVER)),
            stop: Arc::default(),
            is_loading: Arc::default(),
        };
        switch.renew(Some(1000));
        assert_eq!(switch.act(5000), Act::Nothing, "no load");
        switch.is_loading().store(true, Ordering::SeqCst);
        assert_eq!((switch.act(1000), switch.act(1001)), (Act::Nothing, Act::Stop));
        assert_eq!(switch.act(1001 + ORDERLY_NS), Act::End);
        switch.renew(Some(2000 + ORDERLY_NS));
        assert_eq!(switch.act(1001 + ORDERLY_NS), Act::Nothing, "renewed");
        switch.renew(None);
        assert_eq!(switch.act(2000 + ORDERLY_NS), Act::Nothing, "the last one holds");
        switch.ended();
        assert_eq!(switch.act(u64::MAX), Act::Nothing);
    }
}
