//! The window is long against the latency, so that its edges do not matter.

use super::Outcome;
use crate::case::Case;
use model::standing::{Figure, Standing};
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

/// Requests in flight at the edges are counted or not by chance, at most all of them.
pub fn leaves(case: &Case<'_>, _: Figure) -> Option<Standing> {
    let point = case.point;
    let in_flight = point.in_flight.mean.unwrap_or(point.in_flight.limit as f64);
    let edge = in_flight / point.load.duration_s.max(f64::MIN_POSITIVE);
    let by = format!(
        "{in_flight:.0} requests were in flight at each end of a window of {}",
        show_ns(point.load.duration_s * 1e9)
    );
    let low = (point.rate - edge).max(0.0);
    Some(Standing::Bounded { low, high: Some(point.rate + edge), by })
}
