//! Percentiles cover the responses that arrived, whatever their status.
//!
//! A request without a response is slower than every request that has one, so percentiles above the
//! share of requests with a response do not exist. A response that sheds a request is often the
//! fastest.

use super::{Listed, open};
use crate::audit::say::{number, percent};
use model::audit::{Counts, Finding, Foreign, Given, Latencies, Outcome, Since};

pub(super) const LISTED: Listed = Listed {
    id: "survivors",
    asks: "Are the percentiles those of all requests, or only of those that got a response?",
    source: "docs/method.md: requests without a good response count as slower than all others",
    check,
};

/// A smaller share of failed responses moves only the percentiles that they can reach.
const MIXED_MAX: f64 = 0.05;

const SETTLE: &str = "`ceiling load` counts failures in every rank, and prints `failed` there";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let Some(requests) = &report.requests else { return Vec::new() };
    let is_asked = |one: &&Latencies| one.since != Since::Other;
    let lost: f64 = report.errors.iter().map(|class| class.count.value).sum();
    let good = report.good.as_ref().map(|good| good.value);
    // If the count is of responses, it does not include lost requests.
    let outside = if report.meaning.counts == Counts::Requests { 0.0 } else { lost };
    let all = (requests.value + outside).max(1.0);
    let bad = good.map(|good| (all - good - lost).max(0.0));
    let of = |latency: &Latencies| {
        let missing =
            finding(latency, (lost, all), "got no response and are in no percentile", 1.0);
        let is_of_good = latency.samples.as_ref().is_some_and(|all| Some(all.value) == good);
        let (words, share_max) = match is_of_good {
            true => ("failed, and are in no percentile", 1.0),
            false => ("failed, and their times are mixed in", MIXED_MAX),
        };
        let failed = finding(latency, (bad.unwrap_or(0.0), all), words, share_max);
        [missing, failed]
    };
    report.latencies.iter().filter(is_asked).flat_map(of).flatten().collect()
}

fn finding(latency: &Latencies, of: (f64, f64), words: &str, share_max: f64) -> Option<Finding> {
    let (some, all) = of;
    let share = some / all;
    let reached = |rank: f64| share >= 1.0 - rank || share > share_max;
    let ranks = latency.percentiles.iter().filter(|one| reached(one.share));
    let mut claims: Vec<String> = ranks.map(|one| latency.claim(&one.name())).collect();
    let is_much = share > MIXED_MAX && latency.mean.is_some();
    claims.extend(is_much.then(|| latency.claim("mean")));
    let arithmetic =
        format!("{} of {} requests ({}) {words}", number(some), number(all), percent(share));
    let is_any = some > 0.0 && !claims.is_empty();
    is_any.then(|| open(Outcome::Undecided, &claims, arithmetic, SETTLE))
}
