//! Stamps are fine enough for the latency they make.
//!
//! A stamp can be late by the length of a turn of the worker's loop. When turns are as long as
//! half the median latency, much of the latency is the generator's own: the true one lies between
//! the figure less two of the longest turn and the figure.

use super::Outcome;
use crate::case::Case;
use model::standing::{Figure, Standing};
use model::units::show_ns;

const BOUND: &str = "at most 50 % of p50";

pub fn check(case: &Case<'_>) -> Outcome {
    let point = case.point;
    let turn_ns = point.client_loop.turn_mean_ns;
    let (Some(p50_ns), Some(turn_ns)) = (point.latency_ns.p50, turn_ns) else {
        return Outcome::unchecked(BOUND, "no median latency or no turns");
    };
    let share = turn_ns / p50_ns.max(1) as f64;
    let (turn, p50) = (show_ns(turn_ns), show_ns(p50_ns as f64));
    let why = format!("a turn of the loop takes {turn} on average, p50 is {p50}");
    Outcome { ok: Some(share <= 0.5), measured: Some(share * 100.0), bound: BOUND.to_string(), why }
}

/// A request leaves up to a turn after its stamp, and its response is stamped up to a turn late.
pub fn leaves(case: &Case<'_>, figure: Figure) -> Option<Standing> {
    let value_ns = case.point.latency_ns.of(figure)? as f64;
    let turn_ns = case.point.client_loop.turn_max_ns as f64;
    let by = format!("a response is stamped up to {} late", show_ns(turn_ns));
    let low = (value_ns - 2.0 * turn_ns).max(0.0);
    Some(Standing::Bounded { low, high: Some(value_ns), by })
}
