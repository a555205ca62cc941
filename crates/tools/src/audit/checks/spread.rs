//! Mean and deviation fit the percentiles and the ends.
//!
//! Each percentile bounds the mean from both sides, because it says how many values lie above it.
//! The deviation is at most that of values at the two ends (Bhatia and Davis), and at least that of
//! the values beyond a percentile.

use super::{Listed, open, settled};
use crate::audit::bounds::{Range, mean_at_least, mean_at_most, range_of, rank_slack};
use crate::audit::say::time;
use model::audit::{Figure, Finding, Foreign, Given, Latencies, Outcome, Since};

pub(super) const LISTED: Listed = Listed {
    id: "spread",
    asks: "Can the mean and the deviation be those of these percentiles, minimum and maximum?",
    source: "R. Bhatia and C. Davis, A Better Bound on the Variance (2000)",
    check,
};

/// Tolerance for how a deviation is computed.
const ROOM: f64 = 0.01;

const AGAIN: &str = "use the unedited output of the tool, or a tool that keeps every value";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let of = |latency: &Latencies| {
        let name = latency.claim("mean");
        let is_defect = report.meaning.defects.iter().any(|defect| defect.claims.contains(&name));
        // There are as many connect times as connections, not as many as requests.
        let of_requests = report.requests.as_ref().filter(|_| latency.since != Since::Other);
        let values = of_requests.map(|requests| requests.low);
        if is_defect { Vec::new() } else { of_one(latency, values) }
    };
    report.latencies.iter().flat_map(of).collect()
}

fn of_one(latency: &Latencies, values: Option<f64>) -> Vec<Finding> {
    let Some(mean) = &latency.mean else { return Vec::new() };
    let found = [of_mean(latency, mean, values), of_deviation(latency, mean, values)];
    found.into_iter().flatten().collect()
}

fn of_mean(latency: &Latencies, mean: &Figure, values: Option<f64>) -> Option<Finding> {
    let (name, range) = (latency.claim("mean"), range_of(latency, mean));
    let least = mean_at_least(latency, values)?;
    let most = mean_at_most(latency, values);
    let shown = most.map_or("no end".to_string(), time);
    let words = format!("by the percentiles the mean lies from {} to {shown}", time(least));
    Some(between(&name, range, (least, most), words))
}

/// A figure that must lie between two ends.
fn between(name: &str, report: Range, (least, most): (f64, Option<f64>), words: String) -> Finding {
    if report.high < least || most.is_some_and(|most| report.low > most) {
        let finding = open(Outcome::Impossible, &[name], words, AGAIN);
        return Finding { bound: Some((Some(least), most)), ..finding };
    }
    settled(Outcome::Holds, &[name], words)
}

fn of_deviation(latency: &Latencies, mean: &Figure, values: Option<f64>) -> Option<Finding> {
    let report = range_of(latency, latency.stdev.as_ref()?);
    let (mean, max) = (range_of(latency, mean), range_of(latency, latency.max.as_ref()?));
    let min = latency.min.as_ref().map_or(0.0, |min| range_of(latency, min).low);
    // The deviation is largest when the values are at both ends, with the mean unchanged.
    let at_ends = |mean: f64| ((max.high - mean) * (mean - min)).max(0.0);
    let middle = ((max.high + min) / 2.0).clamp(mean.low, mean.high.max(mean.low));
    let of_sample = values.map_or(1.5, |values| (values / (values - 1.0).max(1.0)).sqrt());
    let most = at_ends(middle).sqrt() * of_sample * (1.0 + ROOM);
    let slack = rank_slack(latency, values);
    let beyond = latency.percentiles.iter().map(|one| {
        let away = (range_of(latency, &one.value).low - mean.high).max(0.0);
        away * (1.0 - one.share - slack).max(0.0).sqrt()
    });
    let least = beyond.fold(0.0, f64::max) * (1.0 - ROOM);
    let name = latency.claim("stdev");
    let words =
        format!("by mean, ends and percentiles it lies from {} to {}", time(least), time(most));
    Some(between(&name, report, (least, Some(most)), words))
}
