//! Every parser of this room over the same bytes, for the property tests here and the fuzz target
//! outside.

use crate::samples::Samples;
use crate::weigh::{Visited, merged};
use crate::{perf, pprof};
use model::profile::PROFILE_KINDS;

/// Reads bytes as every kind of profile and as text of perf, and weighs what comes of it.
pub fn profiles(bytes: &[u8]) {
    let visited = Visited { rate: 1.0, in_flight: Some(1.0) };
    for kind in PROFILE_KINDS {
        if let Ok(samples) = pprof::decode(bytes, kind) {
            merged(kind, &[&samples, &samples], visited);
        }
    }
    let by_process = perf::parse(bytes, i64::MAX / 2);
    let all: Vec<&Samples> = by_process.values().collect();
    merged(model::profile::ProfileKind::Perf, &all, visited);
}
