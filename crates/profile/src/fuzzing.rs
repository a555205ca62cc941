//! Runs every parser of this crate over the same bytes, for the property tests here and the fuzz
//! target outside.

use crate::samples::Samples;
use crate::weigh::{Weight, merged};
use crate::{perf, pprof};
use model::profile::ProfileKind;

/// Reads bytes as every kind of profile and as text of perf, and weighs the result.
pub fn profiles(bytes: &[u8]) {
    let weight = Weight::Requests { rate: 1.0, in_flight: Some(1.0) };
    for kind in ProfileKind::ALL {
        if let Ok(samples) = pprof::decode(bytes, kind) {
            let _ = merged(kind, &[&samples, &samples], weight);
        }
    }
    if let Ok(parsed) = perf::parse(bytes, i64::MAX / 2) {
        let all: Vec<&Samples> = parsed.by_process.values().collect();
        let _ = merged(ProfileKind::Perf, &all, Weight::Absent("not requested"));
    }
}
