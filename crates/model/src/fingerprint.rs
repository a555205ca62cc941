//! Patterns in a latency distribution or a ramp that need no observation of the server.

use crate::wall::WallId;
use serde::{Deserialize, Serialize};

/// A known pattern that was seen. It hints at walls; other causes look the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Stable name, for example `delayed_ack`.
    pub id: String,
    /// What was seen, in words.
    pub what: String,
    /// The figure with its unit, as shown.
    pub measured: String,
    /// The rule it satisfies.
    pub rule: String,
    /// Walls that look like this; empty when it shows whether there is one, but not which.
    pub means: Vec<WallId>,
    /// What else looks like this.
    pub beware: String,
}
