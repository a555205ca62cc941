//! Two runs compared: what differs between them, point by point and in their profiles.

use crate::across::{Decided, Difference};
use crate::figure::Figure;
use crate::profile::ProfileKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of [`Comparison`].
pub const COMPARISON_SCHEMA: &str = "ceiling.compare/1";

/// Two runs, A and B. Every ratio is B over A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// Id of A.
    pub a: String,
    /// Id of B.
    pub b: String,
    /// Why the two must not be compared; empty when nothing prevents it.
    pub warnings: Vec<String>,
    /// Differences between the trials and between the hosts.
    pub settings: Vec<Difference>,
    /// Points by load, in the order of A, then those that only B has.
    pub points: Vec<PointPair>,
    /// By kind of profile, where both runs have it.
    pub profiles: Vec<ProfileDifference>,
    /// The outcome of each `--fail-if` at the best point of both runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Decided>,
}

/// A load of both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointPair {
    /// The load, in words.
    pub load: String,
    /// In A.
    pub a: Option<PointSide>,
    /// In B.
    pub b: Option<PointSide>,
    /// B over A; absent where either is.
    pub ratios: Ratios,
}

/// One side of a pair: the last visit of the load; at the answer of a search, the trial that shows
/// it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointSide {
    /// Index of the visit in `points` of its run, from 0.
    pub point: usize,
    /// How often the load was visited.
    pub visits: usize,
    /// Completed good responses per second; for devices, connections.
    pub rate: f64,
    /// The interval of that mean within this one visit, by batch means; another visit may differ by
    /// more.
    pub rate_interval: Option<(f64, f64)>,
    /// Median latency, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of latency, nanoseconds.
    pub p99_ns: Option<u64>,
    /// CPU time of the generator per request, microseconds.
    pub client_us_per_request: Option<f64>,
    /// CPU time of the server per request, microseconds.
    pub server_us_per_request: Option<f64>,
    /// The other figures of a visit that are known, in the units of the record: those of hosts
    /// among them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<Figure, f64>,
    /// The wall, as in the record.
    pub wall: String,
    /// Ids of gates that failed.
    pub failed_gates: Vec<String>,
    /// Why the rate is not known; absent when it is.
    pub rate_unknown: Option<String>,
    /// Names of percentiles that are not a single value, because of a failed gate; they are in no
    /// ratio.
    pub struck: Vec<String>,
    /// Whether the server was profiled during the visit.
    pub profiled: bool,
}

/// B over A.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// Ratio of the rates.
    pub rate: Option<f64>,
    /// Half of the interval of that ratio, from the intervals of both sides.
    pub rate_spread: Option<f64>,
    /// Ratio of the medians.
    pub p50: Option<f64>,
    /// Ratio of the 99th percentiles.
    pub p99: Option<f64>,
    /// Ratio of the generator's CPU time per request.
    pub client_us: Option<f64>,
    /// Ratio of the server's CPU time per request.
    pub server_us: Option<f64>,
}

/// One kind of profile in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileDifference {
    /// Which.
    pub kind: ProfileKind,
    /// Functions whose share changed most, by their own value.
    pub functions: Vec<FunctionChange>,
    /// Waits of requests at the same site.
    pub waits: Vec<WaitChange>,
}

/// One function in both runs; absent where it is below what that run keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionChange {
    /// Its name.
    pub function: String,
    /// Its own share of the profile in A.
    pub a_share: Option<f64>,
    /// Its own share of the profile in B.
    pub b_share: Option<f64>,
    /// Its own value per request in A: nanoseconds, or bytes for the heap.
    pub a_each: Option<f64>,
    /// Its own value per request in B: nanoseconds, or bytes for the heap.
    pub b_each: Option<f64>,
}

/// One wait in both runs; absent where it was not recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitChange {
    /// Where it waited.
    pub site: String,
    /// The call that waited.
    pub call: String,
    /// Share of residence in A.
    pub a_share: Option<f64>,
    /// Share of residence in B.
    pub b_share: Option<f64>,
}
