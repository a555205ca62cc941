//! Why the slow end of the latencies is slow: a verdict of its own, beside the wall.
//!
//! For: what a point says about its slowest requests. The wall is about the mean of a window, this
//! is about a hundredth of its requests.
//! Never: a cause that the slowest requests met no more often than chance lets them.

use crate::wall::WallId;
use serde::{Deserialize, Serialize};

crate::named! {
    /// What can make single requests slow. Where two explain the same requests, the first is named:
    /// what is more particular comes first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TailCause {
        /// The generator did not look at its connections, or sent late.
        Generator = "generator",
        /// A control group throttled the server.
        Throttled = "throttled",
        /// The hypervisor took the time of a CPU of the server's host.
        Stolen = "stolen",
        /// Threads of the server were stopped, or its runtime paused them.
        Paused = "paused",
        /// Packets were sent again.
        Resent = "resent",
        /// A disk of the server's host was in use all the time.
        Storage = "storage",
        /// All work of the server's host waited for memory.
        Memory = "memory",
        /// More requests were due than the server ever did in a tenth of a second, by the shape of
        /// the rate.
        Arrivals = "arrivals",
        /// A CPU of the server's host took in packets all the time.
        Softirq = "softirq",
        /// A thread of the server was ready to run and had no CPU, while others had most of them.
        Others = "others",
        /// The same, while the server itself had them.
        RunQueue = "run_queue",
        /// One target of a mix.
        Target = "target",
        /// One connection.
        Connection = "connection",
        /// The first request of a connection.
        NewConnection = "new_connection",
    }
    /// As the record names it.
    fn key;
}

impl TailCause {
    /// The wall that it belongs to, where there is one.
    pub fn wall(self) -> Option<WallId> {
        match self {
            Self::Generator => Some(WallId::C4),
            Self::Throttled => Some(WallId::S3),
            Self::Stolen => Some(WallId::S5),
            Self::Paused => Some(WallId::A5),
            Self::Resent => Some(WallId::N2),
            Self::Storage => Some(WallId::A6),
            Self::Memory => Some(WallId::A9),
            Self::Softirq => Some(WallId::K4),
            Self::Others => Some(WallId::S6),
            Self::RunQueue => Some(WallId::S1),
            Self::NewConnection => Some(WallId::A8),
            Self::Arrivals | Self::Target | Self::Connection => None,
        }
    }
}

/// How many of the slowest requests a cause explains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TailShare {
    /// The cause.
    pub cause: TailCause,
    /// The id of its wall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<String>,
    /// The number of the connection or the target, from 0, where it is one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Share of the slowest requests that met it, and none of the causes before: 0 to 1.
    pub share: f64,
    /// The share that would have met it by chance: 0 to 1; `null` where it follows from the parts
    /// of each request.
    pub expected: Option<f64>,
    /// How many separate times of the cause they met.
    pub events: u64,
    /// How often chance would let as many meet it, corrected for the number of causes that were
    /// looked at; `null` like `expected`.
    pub p: Option<f64>,
    /// When it was at work, from the start of the window, nanoseconds: each time begins and ends
    /// with a reading. The first [`TIMES_MAX`]; empty where it is not a matter of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times_ns: Vec<(u64, u64)>,
}

/// Most times of a cause that a record keeps.
pub const TIMES_MAX: usize = 64;

impl Tail {
    /// All causes that are named, also those of the slowest of these requests only.
    pub fn named(&self) -> impl Iterator<Item = &TailShare> {
        self.causes.iter().chain(self.beyond.iter().flat_map(|beyond| &beyond.causes))
    }
}

/// Causes that could not be looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TailUnread {
    /// Which.
    pub causes: Vec<TailCause>,
    /// Why.
    pub why: String,
}

/// What explains the slowest of the slow requests, where that is something else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TailBeyond {
    /// They took at least so long, nanoseconds.
    pub at_least_ns: u64,
    /// The share of all requests that were faster than these, 0 to 1.
    pub quantile: f64,
    /// What explains the most of them, then what explains the most of the rest, and so on; shares
    /// are of these requests.
    pub causes: Vec<TailShare>,
    /// Share of them that none of these explains.
    pub unexplained: f64,
}

/// The verdict on the slowest requests of a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// The requests that it is about took at least so long, nanoseconds: the slowest hundredth, or
    /// where only that tells something, the slowest thousandth or twentieth.
    pub at_least_ns: Option<u64>,
    /// The share of all requests that were faster than these, 0 to 1.
    pub quantile: Option<f64>,
    /// What explains the most, then what explains the most of the rest, and so on.
    pub causes: Vec<TailShare>,
    /// Share of the slowest requests that none of these explains; `null` where that is not known.
    pub unexplained: Option<f64>,
    /// The slowest thousandth where these are the slowest hundredth, and where it has another cause
    /// or another first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<TailBeyond>,
    /// What would explain a fifth of the slowest requests, from those that are left, but may be
    /// chance: a longer window would tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<TailShare>,
    /// What could not be looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<TailUnread>,
    /// Why there is no verdict; absent where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}
