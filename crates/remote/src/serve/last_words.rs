//! The last message of a session.

use crate::line::{Line, Stillness};
use crate::message::FromProbe;
use std::time::{Duration, Instant};

/// How often readings are sent, and the stop flag is checked.
pub(super) const TURN: Duration = Duration::from_millis(50);
/// A client that takes no byte of the last messages for this long gets no more of them.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long last messages wait for a client: over a slow link, as long as it takes bytes. When this
/// probe was told to end, not longer than [`LAST_WORDS`] in all.
pub(super) struct Patience {
    still: Stillness,
    until: Option<Instant>,
}

impl Patience {
    /// From an instant, at which this many bytes had been taken.
    pub(super) fn new(sent: u64, now: Instant) -> Self {
        Self { still: Stillness::new(sent, now), until: None }
    }

    /// The same for a probe that was told to end.
    pub(super) fn of_ending(sent: u64, now: Instant) -> Self {
        Self { until: Some(now + LAST_WORDS), ..Self::new(sent, now) }
    }

    /// Whether the wait is over.
    pub(super) fn is_over(&mut self, sent: u64, now: Instant) -> bool {
        self.until.is_some_and(|until| now > until) || self.still.lasted(sent, now) > LAST_WORDS
    }
}

/// Sends a last message; it may not arrive.
pub(super) fn say(line: &mut Line, message: &FromProbe) {
    line.send(message);
    let mut patience = Patience::new(line.sent(), Instant::now());
    while line.is_blocked() && !patience.is_over(line.sent(), Instant::now()) {
        if line.flush(TURN).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_takes_bytes_is_waited_for_unless_the_probe_ends() {
        let begin = Instant::now();
        let after = |seconds: u64| begin + Duration::from_secs(seconds);
        for (is_stopped, mut patience) in
            [(false, Patience::new(0, begin)), (true, Patience::of_ending(0, begin))]
        {
            let waits = |second: &u64| !patience.is_over(1000 * second, after(*second));
            let waited = (1..=60).take_while(waits).count();
            assert_eq!(waited, if is_stopped { 2 } else { 60 });
            assert!(patience.is_over(1000 * 61, after(64)) || !is_stopped);
            assert!(patience.is_over(1000 * 61, after(67)), "it takes nothing");
        }
    }
}
