//! The last message of a session.

use crate::line::Line;
use crate::message::FromProbe;
use std::time::{Duration, Instant};

/// How often readings are sent, and the stop flag is checked.
pub(super) const TURN: Duration = Duration::from_millis(50);
/// Time limit of the last messages.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);

/// Sends a last message, with a time limit; it may not arrive.
pub(super) fn say(line: &mut Line, message: &FromProbe) {
    line.send(message);
    let begin = Instant::now();
    while line.is_blocked() && begin.elapsed() < LAST_WORDS {
        if line.flush(TURN).is_err() {
            return;
        }
    }
}
