//! The window is long against the latency, so that its edges do not matter.

use super::Outcome;
use crate::case::Case;
use model::units::show_ns;

const BOUND: &str = "mean latency at most 20 % of the window";

pub fn check(case: &Case<'_>) -> Outcome {
    let point = case.point;
    // From the send: what is not sent in the window has no edge to cross.
    let Some(mean_ns) = point.service_ns.mean else {
        return Outcome::unchecked(BOUND, "no latency");
    };
    let window_ns = point.load.duration_s * 1e9;
    let share = mean_ns as f64 / window_ns.max(1.0);
    let (mean, window) = (show_ns(mean_ns as f64), show_ns(window_ns));
    let why = format!("mean latency {mean} in a window of {window}");
    Outcome {
        ok: Some(share <= 0.20),
        measured: Some(share * 100.0),
        bound: BOUND.to_string(),
        why,
    }
}
