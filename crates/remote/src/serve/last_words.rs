//! The last message of a session.

use crate::line::{Line, Stillness};
use crate::message::FromProbe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often readings are sent, and the stop flag is checked.
pub(super) const TURN: Duration = Duration::from_millis(50);
/// A client that takes no byte of the last messages for this long gets no more of them.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long last messages wait for a client: over a slow link, as long as it takes bytes. When this
/// probe has to stop, not longer than [`LAST_WORDS`] from then on.
pub(super) struct Patience<'a> {
    still: Stillness,
    /// Set when the probe is to end.
    stop: &'a AtomicBool,
    /// Until when, once that was seen.
    until: Option<Instant>,
}

impl<'a> Patience<'a> {
    /// From an instant, at which this many bytes had been taken.
    pub(super) fn new(sent: u64, now: Instant, stop: &'a AtomicBool) -> Self {
        let mut patience = Self { still: Stillness::new(sent, now), stop, until: None };
        patience.look(now);
        patience
    }

    /// Whether the wait is over.
    pub(super) fn is_over(&mut self, sent: u64, now: Instant) -> bool {
        self.look(now);
        self.until.is_some_and(|until| now > until) || self.still.lasted(sent, now) > LAST_WORDS
    }

    fn look(&mut self, now: Instant) {
        if self.until.is_none() && self.stop.load(Ordering::Relaxed) {
            self.until = Some(now + LAST_WORDS);
        }
    }
}

/// Sends a last message; it may not arrive.
pub(super) fn say(line: &mut Line, message: &FromProbe, stop: &AtomicBool) {
    let patience = Patience::new(line.sent(), Instant::now(), stop);
    say_within(line, message, patience);
}

/// Sends a last message for as long as the wait for earlier messages leaves.
pub(super) fn say_within(line: &mut Line, message: &FromProbe, mut patience: Patience<'_>) {
    line.send(message);
    while line.is_blocked() && !patience.is_over(line.sent(), Instant::now()) {
        if line.flush(TURN).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that takes bytes for a minute, and a probe that has to stop in this second.
    #[test]
    fn a_client_that_takes_bytes_is_waited_for_unless_the_probe_ends() {
        let begin = Instant::now();
        let after = |seconds: u64| begin + Duration::from_secs(seconds);
        for (stopped_at, expected) in [(None, 60), (Some(0), 2), (Some(10), 12)] {
            let stop = AtomicBool::new(stopped_at == Some(0));
            let mut patience = Patience::new(0, begin, &stop);
            let mut waits = |second: &u64| {
                stop.fetch_or(stopped_at == Some(*second), Ordering::Relaxed);
                !patience.is_over(1000 * second, after(*second))
            };
            assert_eq!((1..=60).take_while(|second| waits(second)).count(), expected);
            assert!(patience.is_over(1000 * 61, after(64)) || stopped_at.is_none());
            assert!(patience.is_over(1000 * 61, after(67)), "it takes nothing");
        }
    }
}
