//! Every request sent is completed, failed or unanswered; every planned one is sent or unsent.

use super::Outcome;
use crate::case::Case;

pub fn check(case: &Case<'_>) -> Outcome {
    let requests = &case.point.requests;
    let accounted = requests.completed + requests.failed + requests.unanswered;
    let missing = requests.sent.abs_diff(accounted);
    let planned = requests.planned.unwrap_or(requests.sent + requests.unsent);
    let unplanned = planned.abs_diff(requests.sent + requests.unsent);
    let good: u64 = ["2xx", "3xx"].iter().filter_map(|class| case.point.status.get(*class)).sum();
    let misbooked = good.abs_diff(requests.completed + case.point.mismatched);
    let off = missing + unplanned + misbooked;
    let why = if off == 0 {
        format!("all {} requests are accounted for", requests.sent)
    } else {
        format!(
            "{missing} requests without a fate, {unplanned} beside the plan, {misbooked} good \
             answers not booked as completed"
        )
    };
    Outcome { ok: Some(off == 0), measured: Some(off as f64), bound: "0 requests".to_string(), why }
}
