//! There are enough answers for a median: ten on each side of it.
//!
//! Higher percentiles without ten values beyond them are absent from the record; they do not make
//! it invalid.

use super::Outcome;
use crate::case::Case;

const BOUND: &str = "a median at least";

pub fn check(case: &Case<'_>) -> Outcome {
    let latency = &case.point.latency_ns;
    let requests = &case.point.requests;
    if requests.sent == 0 {
        return Outcome::unchecked(BOUND, "no request was sent");
    }
    if (requests.failed + requests.unanswered) * 2 >= requests.sent {
        // Few answers are then no sign of a short measurement; the errors gate speaks.
        return Outcome::unchecked(BOUND, "half of the requests or more had no good answer");
    }
    let named = [
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p99.9", latency.p99_9),
        ("p99.99", latency.p99_99),
    ];
    let absent: Vec<_> =
        named.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name).collect();
    let why = match (latency.p50, absent.as_slice()) {
        (None, _) => "too few answers, or too many without one, for a median".to_string(),
        (_, []) => "every percentile has at least ten answers beyond it".to_string(),
        (_, absent) => format!("too few answers for {}: left out", absent.join(", ")),
    };
    let count = latency.count as f64;
    Outcome {
        ok: Some(latency.p50.is_some()),
        measured: Some(count),
        bound: BOUND.to_string(),
        why,
    }
}
