//! Responses with a good status pass the run's checks.
//!
//! A login page with status 200 instead of the real response is fast and worthless. Responses that
//! fail a check already count as failures and are not part of the rate. Many of them mean that the
//! load did not reach what it was meant to test. Error statuses, resets and timeouts do not break
//! this gate: they are results, and the report prints their share next to the rate.

use super::Checked;
use crate::case::Case;

const BOUND: &str = "at most 0.1 % of the responses with a good status fail a check";

pub fn check(case: &Case<'_>) -> Checked {
    let point = case.point;
    if case.trial.targets.iter().all(|target| target.checks.is_empty()) {
        return Checked::unchecked(BOUND, "no check was asked for");
    }
    let good: u64 = ["2xx", "3xx"].iter().filter_map(|class| point.status.get(*class)).sum();
    let good = good + point.called_good();
    if good == 0 {
        return Checked::unchecked(BOUND, "no response had a good status");
    }
    let share = point.mismatched as f64 / good as f64;
    let why = match worst(case) {
        Some((check, count)) if point.mismatched > 0 => format!(
            "{} of {good} responses with a good status failed a check, {count} of them '{check}'",
            point.mismatched
        ),
        _ => format!("all {good} responses with a good status passed their checks"),
    };
    let (ok, measured) = (Some(share <= 0.001), Some(share * 100.0));
    Checked { ok, measured, bound: BOUND.to_string(), why }
}

/// The check that most responses failed.
fn worst<'a>(case: &Case<'a>) -> Option<(&'a str, u64)> {
    let failed = case.point.mismatches.iter().max_by_key(|(_, count)| **count);
    failed.map(|(check, count)| (check.as_str(), *count))
}
