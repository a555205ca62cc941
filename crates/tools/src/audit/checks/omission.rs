//! The signature of requests that were never made: a stall, in a closed loop.
//!
//! While a connection of a closed loop waits, it sends nothing. A stall as long as the maximum, on
//! every connection that can have had one, left out the requests that would have been sent in the
//! meantime; their latencies would have been spread over the length of the stall. That bounds a
//! percentile from above for clients that do not wait for each other (G. Tene, coordinated
//! omission).

use super::{Listed, open};
use crate::audit::say::{number, time};
use model::audit::{Finding, Foreign, Given, Latencies, Loop, Outcome, Percentile, Since};

pub(super) const LISTED: Listed = Listed {
    id: "omission",
    asks: "Did a closed loop stall, so that percentiles leave out requests that would have waited?",
    source: "G. Tene, How NOT to Measure Latency (2013); docs/method.md",
    check,
};

/// The maximum is this many times a middle value.
const STALL_TIMES: f64 = 10.0;
/// A connection left out at least this many requests in the stall.
const LEFT_OUT_MIN: f64 = 10.0;
/// A percentile is open if it may be this many times as high.
const OPEN_TIMES: f64 = 2.0;

const SETTLE: &str = "run it in open loop: `ceiling load -R RATE`";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let of = |latency: &Latencies| of_one(report, latency);
    let is_asked = |one: &&Latencies| one.since == Since::Send || one.since == Since::Unknown;
    match report.meaning.load {
        Loop::Closed => report.latencies.iter().filter(is_asked).filter_map(of).flatten().collect(),
        _ => Vec::new(),
    }
}

fn of_one(report: &Foreign, latency: &Latencies) -> Option<Vec<Finding>> {
    let (rate, connections) = (report.rate.as_ref()?.value, report.connections.as_ref()?.value);
    let max = latency.max.as_ref()?.value;
    let middle = latency.at(0.5).map(|one| &one.value).or(latency.mean.as_ref())?.value;
    // Requests per second of one connection.
    let each = rate / connections.max(1.0);
    let left_out = each * max;
    if max < STALL_TIMES * middle || left_out < LEFT_OUT_MIN {
        return None;
    }
    let values = report.requests.as_ref().or(latency.samples.as_ref());
    let values = values
        .map(|values| values.value)
        .or_else(|| Some(rate * report.duration_s.as_ref().or(report.asked_s.as_ref())?.value))?;
    let stalled = stalled(latency, (values, connections), max);
    let open_one = |one: &Percentile| {
        let highest = highest(one.share, max, values, stalled * each);
        if highest < OPEN_TIMES * one.value.high {
            return None;
        }
        let arithmetic = format!(
            "a stall of {} on up to {} connections left out {} requests: {} of all requests may be \
             up to {}",
            time(max),
            number(stalled),
            number(stalled * left_out),
            one.name(),
            time(highest)
        );
        let finding = open(Outcome::Undecided, &[&latency.claim(&one.name())], arithmetic, SETTLE);
        Some(Finding { bound: Some((Some(one.value.low), Some(highest))), ..finding })
    };
    Some(latency.percentiles.iter().filter_map(open_one).collect())
}

/// How many connections can have had a value near the maximum: no more than there are values beyond
/// the highest percentile that is well below it.
fn stalled(latency: &Latencies, (values, connections): (f64, f64), max: f64) -> f64 {
    let below = latency.percentiles.iter().filter(|one| one.value.high < max / 2.0);
    let share = below.map(|one| 1.0 - one.share).fold(1.0, f64::min);
    (share * values).floor().clamp(1.0, connections.max(1.0))
}

/// The percentile over all requests including those left out, whose latencies are spread evenly
/// from zero to the maximum.
fn highest(share: f64, max: f64, values: f64, per_second: f64) -> f64 {
    let all = values + per_second * max;
    let beyond = (1.0 - share) * all;
    (max - beyond / per_second.max(f64::MIN_POSITIVE)).max(0.0)
}
