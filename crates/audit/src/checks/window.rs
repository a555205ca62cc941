//! Whether rate and latencies cover the requested time.

use super::{Listed, open, percentiles};
use crate::say::{number, percent, time};
use model::audit::{Finding, Foreign, Given, Latencies, Outcome, Since};

pub(super) const LISTED: Listed = Listed {
    id: "window",
    asks: "Do the figures cover all requests, and the whole requested time?",
    source: "wrk2 wrk.c leaves out its first ten seconds; the others as they print",
    check,
};

/// Latencies of less than this share of the requests cover only a part.
const PART: f64 = 0.9;
/// A run that takes this many times as long as requested was not ended by its clock.
const LONGER: f64 = 1.2;
/// Ending a run takes up to this long, seconds.
const ENDING_S: f64 = 0.5;

const SETTLE: &str = "measure longer, and compare with a tool that reports its window";

fn check(told: &Foreign, _: &Given) -> Vec<Finding> {
    let of = |latency: &Latencies| of_part(told, latency);
    told.latencies.iter().filter_map(of).chain(of_time(told)).collect()
}

fn of_part(told: &Foreign, latency: &Latencies) -> Option<Finding> {
    if latency.since == Since::Other {
        return None;
    }
    let (kept, all) = (latency.samples.as_ref()?, told.requests.as_ref()?);
    let lost: f64 = told.errors.iter().map(|class| class.count.high).sum();
    let responses = (all.low - lost).max(0.0);
    if kept.high >= responses * PART {
        return None;
    }
    let mut claims = percentiles(latency, 0.0);
    claims.extend(latency.mean.as_ref().map(|_| latency.claim("mean")));
    let share = percent(kept.value / responses.max(1.0));
    let arithmetic =
        format!("latencies of {} of {} requests ({share})", number(kept.value), number(responses));
    Some(open(Outcome::CannotTell, &claims, arithmetic, SETTLE))
}

fn of_time(told: &Foreign) -> Option<Finding> {
    let (asked, measured) = (told.asked_s.as_ref()?, told.duration_s.as_ref()?);
    let is_short = measured.high < asked.low * PART - ENDING_S;
    let is_long = measured.low > asked.high * LONGER + ENDING_S;
    let words = format!("{} requested, {} measured", time(asked.value), time(measured.value));
    (is_short || is_long).then(|| open(Outcome::CannotTell, &["rate"], words, SETTLE))
}
