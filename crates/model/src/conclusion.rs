//! Which figures of an experiment's visits are compared, and what a comparison shows.

use serde::{Deserialize, Serialize};

/// What is compared: one figure of each visit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Responses, connections or events per second, as in the table.
    #[default]
    Rate,
    /// 50th percentile of the latency.
    P50,
    /// 99th percentile of the latency.
    P99,
    /// CPU time of the client per request.
    ClientUsPerRequest,
    /// CPU time of the server per request.
    ServerUsPerRequest,
}

impl Figure {
    /// What a user types for each.
    pub const WRITTEN: [(&str, Self); 5] = [
        ("rate", Self::Rate),
        ("p50", Self::P50),
        ("p99", Self::P99),
        ("client_us", Self::ClientUsPerRequest),
        ("server_us", Self::ServerUsPerRequest),
    ];

    /// What a user types for it.
    pub fn word(self) -> &'static str {
        Self::WRITTEN.into_iter().find(|(_, one)| *one == self).map_or("", |(word, _)| word)
    }
}

/// What a contrast shows, at a risk of 5 % for all contrasts of its figure together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conclusion {
    /// The figure is larger.
    More,
    /// It is smaller.
    Less,
    /// It differs by less than the share of the design.
    Same,
    /// None of these is shown.
    Undecided,
}
