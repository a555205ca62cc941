//! Nearly all requests got a good answer.
//!
//! Failures are often faster than answers, so a rate that includes them looks like a gain.

use super::Outcome;
use crate::case::Case;

const BOUND: &str = "at most 0.1 % of requests";

pub fn check(case: &Case<'_>) -> Outcome {
    let requests = &case.point.requests;
    if requests.sent == 0 {
        let why = "no request was sent".to_string();
        return Outcome { ok: Some(false), measured: None, bound: BOUND.to_string(), why };
    }
    let bad = requests.failed + requests.unanswered;
    let share = bad as f64 / requests.sent as f64;
    let why = format!(
        "{} failed and {} unanswered of {} sent",
        requests.failed, requests.unanswered, requests.sent
    );
    Outcome {
        ok: Some(share <= 0.001),
        measured: Some(share * 100.0),
        bound: BOUND.to_string(),
        why,
    }
}
