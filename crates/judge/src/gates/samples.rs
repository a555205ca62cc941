//! There is one latency per completed request, and one entry of the series per second.
//!
//! A starved recorder makes one sample of many seconds and divides by the wrong time; that is how
//! millions of requests per second are reported that never happened.

use super::Outcome;
use crate::case::Case;

const BOUND: &str = "as many as there should be";

pub fn check(case: &Case<'_>) -> Outcome {
    let point = case.point;
    let (recorded, completed) = (point.latency_ns.count, point.requests.completed);
    let seconds = point.load.duration_s.ceil();
    let missing = seconds - point.series.len() as f64;
    let in_series: u64 = point.series.iter().map(|second| second.completed).sum();
    let ok = recorded == completed && in_series <= completed && missing.abs() <= 1.0;
    let why = format!(
        "{recorded} latencies for {completed} completed, {} series entries for {:.1} s",
        point.series.len(),
        point.load.duration_s
    );
    Outcome {
        ok: Some(ok),
        measured: Some(recorded.abs_diff(completed) as f64),
        bound: BOUND.to_string(),
        why,
    }
}
