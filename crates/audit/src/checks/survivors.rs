//! Percentiles are of the responses that came, whatever their status.
//!
//! A request without a response is slower than every one that has one, so above the share of those
//! that have one there is no percentile. A response that sheds a request is often the fastest.

use super::{Listed, open};
use crate::say::{number, percent};
use model::audit::{Finding, Foreign, Given, Latencies, Outcome, Since};

pub(super) const LISTED: Listed = Listed {
    id: "survivors",
    asks: "Are the percentiles those of all requests, or of the ones that got a response?",
    source: "docs/method.md: requests without a good response count as slower than all others",
    check,
};

/// Failed responses that are fewer than this do not move a percentile that they cannot reach.
const MIXED_MAX: f64 = 0.05;

const SETTLE: &str = "`ceiling load` counts failures in every rank, and prints `failed` there";

fn check(told: &Foreign, _: &Given) -> Vec<Finding> {
    let Some(requests) = &told.requests else { return Vec::new() };
    let is_asked = |one: &&Latencies| one.since != Since::Other;
    let lost: f64 = told.errors.iter().map(|class| class.count.value).sum();
    let good = told.good.as_ref().map(|good| good.value);
    let failed = told.failed.as_ref().map(|failed| failed.value);
    let bad = failed.map(|failed| (failed - lost).max(0.0));
    let all = requests.value.max(good.unwrap_or(0.0) + failed.unwrap_or(0.0)).max(1.0);
    let of = |latency: &Latencies| {
        let missing =
            finding(latency, (lost, all), "have no response and are in no percentile", 1.0);
        let mixed = finding(
            latency,
            (bad.unwrap_or(0.0), all),
            "failed, and their times are mixed in",
            MIXED_MAX,
        );
        [missing, mixed]
    };
    told.latencies.iter().filter(is_asked).flat_map(of).flatten().collect()
}

fn finding(latency: &Latencies, of: (f64, f64), words: &str, share_max: f64) -> Option<Finding> {
    let (some, all) = of;
    let share = some / all;
    let reached = |rank: f64| share >= 1.0 - rank || share > share_max;
    let ranks = latency.percentiles.iter().filter(|one| reached(one.share));
    let mut claims: Vec<String> = ranks.map(|one| latency.claim(&one.name())).collect();
    let is_much = share > MIXED_MAX && latency.mean.is_some();
    claims.extend(is_much.then(|| latency.claim("mean")));
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let arithmetic =
        format!("{} of {} requests ({}) {words}", number(some), number(all), percent(share));
    let is_any = some > 0.0 && !claims.is_empty();
    is_any.then(|| open(Outcome::CannotTell, &claims, arithmetic, SETTLE))
}
