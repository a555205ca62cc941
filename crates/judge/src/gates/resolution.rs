//! Responses are stamped when they arrive.
//!
//! A stamp can be late by one turn of the worker's loop, and a request can leave that much after
//! its stamp. When turns are as long as half the median latency, much of the latency is the
//! generator's own: the true latency lies between the figure minus two longest turns and the
//! figure. A worker that stood still also stamps late what arrived in the meantime. How long it
//! stood still is known (`unseen_ns`), so each percentile keeps a bound (`model::punctual`) and is
//! sound where the two agree within 5 % or 50 us.

use super::{Checked, release};
use crate::case::Case;
use model::figure::Figure;
use model::standing::Standing;
use model::units::show_ns;

const BOUND: &str = "turns at most 50 % of p50, no percentile moved by 5 % and 50 us";

pub fn check(case: &Case<'_>) -> Checked {
    let point = case.point;
    let (Some(p50_ns), Some(turn_ns)) = (point.latency_ns.p50, point.client_loop.turn_mean_ns)
    else {
        return Checked::unchecked(BOUND, "no median latency or no turns");
    };
    let share = turn_ns / p50_ns.max(1) as f64;
    let (turn, p50) = (show_ns(turn_ns), show_ns(p50_ns as f64));
    let mut why = format!("a turn of the loop takes {turn} on average, p50 is {p50}");
    // In open loop the gate `release` covers both kinds of delay.
    let moved: Vec<_> = match case.is_open() {
        true => Vec::new(),
        false => release::moved(point).collect(),
    };
    if let Some(longest_ns) = point.unseen_ns.as_ref().and_then(|unseen| unseen.max) {
        why += &format!("; it stood still for up to {}", show_ns(longest_ns as f64));
    }
    if !moved.is_empty() {
        let names: Vec<_> = moved.iter().map(|moved| moved.figure.name()).collect();
        why += &format!(", which moves {}", names.join(", "));
    }
    let ok = share <= TURN_MAX && moved.is_empty();
    // What breaks the bound: the turns, or the percentile that moved most.
    let most = moved.iter().map(|moved| moved.share()).fold(0.0, f64::max);
    let measured = if share <= TURN_MAX && most > 0.0 { most } else { share };
    Checked { ok: Some(ok), measured: Some(measured * 100.0), bound: BOUND.to_string(), why }
}

/// Longest mean turn as a share of the median latency.
const TURN_MAX: f64 = 0.5;

/// A request leaves up to a turn after its stamp, and its response is stamped up to a turn late,
/// plus the time for which the worker did not look.
pub fn leaves(case: &Case<'_>, figure: Figure) -> Option<Standing> {
    let point = case.point;
    let value_ns = point.latency_ns.of(figure)? as f64;
    let moved = release::moved(point).find(|moved| moved.figure == figure && !case.is_open());
    let mut left = moved.map_or(Standing::Sound, |moved| Standing::Bounded {
        low: moved.low_ns as f64,
        high: Some(value_ns),
        by: "the generator stood still for a moment".to_string(),
    });
    let p50_ns = point.latency_ns.p50.unwrap_or(0).max(1) as f64;
    if point.client_loop.turn_mean_ns.is_some_and(|turn_ns| turn_ns / p50_ns > TURN_MAX) {
        let turn_ns = point.client_loop.turn_max_ns as f64;
        let by = format!("a response is stamped up to {} late", show_ns(turn_ns));
        let low = (value_ns - 2.0 * turn_ns).max(0.0);
        left = left.and(Standing::Bounded { low, high: Some(value_ns), by });
    }
    Some(left)
}
