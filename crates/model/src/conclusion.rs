//! Which figures of an experiment's visits are compared, and what a comparison shows.

use serde::{Deserialize, Serialize};

crate::named! {
    /// What is compared: one figure of each visit, the main one first.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Figure {
        /// Responses, connections or events per second, as in the table.
        #[default]
        Rate = "rate",
        /// 50th percentile of the latency.
        P50 = "p50",
        /// 99th percentile of the latency.
        P99 = "p99",
        /// CPU time of the client per request.
        ClientUsPerRequest = "client_us",
        /// CPU time of the server per request.
        ServerUsPerRequest = "server_us",
    }
    /// What a user types for it.
    fn word, parse;
}

crate::named! {
    /// What a contrast shows, at a risk of 5 % for all contrasts of its figure together.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Conclusion {
        /// The figure is larger.
        More = "more",
        /// It is smaller.
        Less = "less",
        /// It differs by less than the share of the design.
        Same = "same",
        /// None of these is shown.
        Undecided = "undecided",
    }
    /// In a word.
    fn word;
}
