//! How a figure is spread: over seconds, and over connections or subscribers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One second of a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// End of the second, from the start of the window.
    pub t_s: f64,
    /// Good responses that arrived in it, whenever their requests were sent.
    pub completed: u64,
    /// Requests that failed in it, whenever they were sent.
    pub failed: u64,
    /// Requested rate, its mean over the second; open loop only.
    pub asked_rate: Option<f64>,
    /// Median latency of those completed.
    pub p50_ns: Option<u64>,
    /// 99th percentile of those completed.
    pub p99_ns: Option<u64>,
    /// Complete responses that arrived in it by status class: 2xx, 3xx, 4xx, 5xx.
    pub status: Option<[u64; 4]>,
    /// Responses to requests of the window that arrived in it, by status code.
    pub status_codes: Option<BTreeMap<String, u64>>,
    /// Bytes of the complete responses that arrived in it.
    pub bytes_received: Option<u64>,
    /// Bytes of the requests sent in it.
    pub bytes_sent: Option<u64>,
}

/// One second of a visit of devices, from its first connection to its last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// End of the second, from the start of the visit.
    pub t_s: f64,
    /// Connections established in it.
    pub established: u64,
    /// Attempts that failed in it.
    pub failed: u64,
    /// Connections open at its end.
    pub open: u64,
    /// Median time to connect of those established.
    pub connect_p50_ns: Option<u64>,
    /// 90th percentile of that time.
    pub connect_p90_ns: Option<u64>,
    /// Most connections that waited to be accepted at once, in all queues of the port; `null` where
    /// the queues were not read.
    pub accept_queue: Option<u64>,
}

/// How evenly something was spread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Least.
    pub min: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// Most.
    pub max: Option<u64>,
}

/// Moments of some values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample; 0 for one value.
    pub stdev: f64,
    /// Most.
    pub max: f64,
    /// Share of the values within one standard deviation of the mean, 0 to 1.
    pub within: f64,
}

impl Moments {
    /// Of these values; nothing when there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let max = values.iter().copied().reduce(f64::max)?;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let stdev = (squares / (count - 1.0).max(1.0)).sqrt();
        let within = values.iter().filter(|value| (**value - mean).abs() <= stdev).count();
        Some(Self { mean, stdev, max, within: within as f64 / count })
    }
}
