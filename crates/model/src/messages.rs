//! Messages of replies that stream: how many there are, and when they arrive.

use crate::histogram::Summary;
use serde::{Deserialize, Serialize};

/// The messages of a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageInfo {
    /// Whole messages that arrived in the window, whenever their call was made.
    pub arrived: u64,
    /// The same per second.
    pub rate: f64,
    /// Messages of the calls of the window, until the end of the drain.
    pub received: u64,
    /// The same per call that was made; absent without a call.
    pub per_call: Option<f64>,
    /// From where latency counts to the first message, of calls that had one.
    pub first_ns: Summary,
    /// From each message of a call to the next one; zero between those that were read together.
    pub gap_ns: Summary,
    /// Messages of conversations that were due; absent where no call is a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// From when such a message was due to its reply. One without a reply counts as slower than
    /// all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Summary>,
}
