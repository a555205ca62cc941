//! The dead-man's switch: load ends when its lease is over, even if the rest of the agent hangs.
//!
//! It is a separate thread that reads one number and the monotonic clock. First it asks the load to
//! end. If the load has not ended soon after, it ends the process, and the kernel closes all its
//! connections.

use super::error::AgentsError;
use engine::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// No load, so no deadline.
const NEVER: u64 = u64::MAX;
/// How often the clock is read.
const LOOK: Duration = Duration::from_millis(20);
/// How many looks the rest of the agent gets to read renewals that are there: after the whole
/// process could not run for a while, this thread may be the first that does.
const RENEWAL_LOOKS: u32 = 5;
/// After how many looks the load must have ended in order, which is 0.4 s: together with the lease,
/// less than the two seconds that a fleet promises. Looks and not time, because a process that was
/// stopped must also get a chance to end in order.
const ORDERLY_LOOKS: u32 = 20;

/// The state that a load and the switch share.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    until_ns: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    is_loading: Arc<AtomicBool>,
}

/// The action of the switch at one look.
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
            let mut looks = 0;
            loop {
                match watched.act(clock::now_ns(), &mut looks) {
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

    /// What to do at this look; `looks` counts the looks that found load after the lease was over.
    fn act(&self, now_ns: u64, looks: &mut u32) -> Act {
        let until_ns = self.until_ns.load(Ordering::SeqCst);
        if !self.is_loading.load(Ordering::SeqCst) || now_ns <= until_ns {
            *looks = 0;
            return Act::Nothing;
        }
        *looks += 1;
        match *looks {
            looks if looks <= RENEWAL_LOOKS => Act::Nothing,
            looks if looks <= ORDERLY_LOOKS => Act::Stop,
            _ => Act::End,
        }
    }

    /// Extends the lease to this instant. `None` changes nothing.
    pub(crate) fn renew(&self, until_ns: Option<u64>) {
        if let Some(until_ns) = until_ns {
            self.until_ns.store(until_ns, Ordering::SeqCst);
        }
    }

    /// A load starts; it must end when the returned flag is set.
    pub(crate) fn begun(&self) -> Arc<AtomicBool> {
        self.stop.store(false, Ordering::SeqCst);
        Arc::clone(&self.stop)
    }

    /// The flag that the load's thread sets while its workers may send. It is still set after an
    /// order to stop that a worker has not taken.
    pub(crate) fn is_loading(&self) -> &AtomicBool {
        &self.is_loading
    }

    /// Asks the load to end now.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Called when no worker sends any more.
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
        let mut looks = 0;
        let mut at = |now_ns| switch.act(now_ns, &mut looks);
        switch.renew(Some(1000));
        assert_eq!(at(5000), Act::Nothing, "no load");
        switch.is_loading().store(true, Ordering::SeqCst);
        assert_eq!((at(1000), at(u64::MAX)), (Act::Nothing, Act::Nothing), "after a long stop");
        for _ in 1..RENEWAL_LOOKS {
            assert_eq!(at(1001), Act::Nothing, "a renewal may be there");
        }
        for _ in RENEWAL_LOOKS..ORDERLY_LOOKS {
            assert_eq!(at(1001), Act::Stop);
        }
        assert_eq!(at(1001), Act::End);
        switch.renew(Some(2000));
        assert_eq!(at(1500), Act::Nothing, "renewed");
        switch.renew(None);
        assert_eq!(at(2000), Act::Nothing, "the last lease holds");
        for _ in 0..RENEWAL_LOOKS {
            assert_eq!(at(2001), Act::Nothing, "and the count of looks starts again");
        }
        assert_eq!(at(2001), Act::Stop);
        switch.ended();
        assert_eq!(at(u64::MAX), Act::Nothing);
    }
}
