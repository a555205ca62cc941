//! Requests that a target took and never answered: it closed their connection as they were on their
//! way, or it stopped responding altogether.

use serde::{Deserialize, Serialize};

/// Connections of a level that had answered, and that the server closed or reset before any byte of
/// the next response: the close and a request crossed each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossedInfo {
    /// How many.
    pub connections: u64,
    /// Fewest responses on one of them.
    pub responses_min: u64,
    /// Most responses on one of them.
    pub responses_max: u64,
    /// Shortest time from the last byte received on one of them to the send of the request that met
    /// the close.
    pub idle_min_ns: u64,
    /// Longest such time.
    pub idle_max_ns: u64,
    /// Most responses on any connection of the level.
    pub responses_most: u64,
}

/// What makes a server close connections, as far as those that it closed show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseLimit {
    /// So many responses on a connection.
    Responses(u64),
    /// About so long without a request, nanoseconds.
    IdleNs(u64),
    /// They do not show it.
    Unknown,
}

/// Closed connections that must agree on a number of responses.
const AGREE_MIN: u64 = 3;
/// Connections are idle for a time-out when they were idle for at least this long, nanoseconds.
const IDLE_MIN_NS: u64 = 100_000_000;

impl CrossedInfo {
    /// The limit that they show: the same number of responses on each, and on no connection more;
    /// or about the same time without a request, within a quarter.
    pub fn limit(&self) -> CloseLimit {
        let responses = self.responses_max;
        let is_constant = self.responses_min == responses && self.responses_most <= responses;
        if self.connections >= AGREE_MIN && is_constant {
            return CloseLimit::Responses(responses);
        }
        let (least_ns, most_ns) = (self.idle_min_ns, self.idle_max_ns);
        match least_ns >= IDLE_MIN_NS && most_ns <= least_ns + least_ns / 4 {
            true => CloseLimit::IdleNs(least_ns),
            false => CloseLimit::Unknown,
        }
    }
}

/// A target that took requests and sent nothing more until the level was over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    /// Since when nothing came, monotonic nanoseconds as in `window_ns`, to a tenth of a second.
    pub at_ns: u64,
    /// For how long, until the level was over.
    pub silent_s: f64,
    /// Requests that timed out or were unanswered in that time.
    pub waited: u64,
}

impl Stopped {
    /// When, from the start of the window; negative before it.
    pub fn after_s(&self, window_begin_ns: u64) -> f64 {
        (self.at_ns as f64 - window_begin_ns as f64) / 1e9
    }

    /// When, in words.
    pub fn when(&self, window_begin_ns: u64) -> String {
        match self.after_s(window_begin_ns) {
            after_s if after_s <= 0.0 => "before the window".to_string(),
            after_s => format!("after {after_s:.1} s"),
        }
    }

    /// What was seen.
    pub fn sentence(&self, window_begin_ns: u64) -> String {
        let requests = if self.waited == 1 { "request" } else { "requests" };
        format!(
            "the target stopped responding {}: it refused nothing and sent no byte for {:.1} s, \
             while {} {requests} waited in vain",
            self.when(window_begin_ns),
            self.silent_s,
            self.waited
        )
    }
}
