//! Minimum, percentiles and maximum never fall, and the mean lies between the ends.

use super::{AGAIN, Listed, open, settled};
use crate::audit::bounds::{Range, range_of};
use crate::audit::say::time;
use model::audit::{Finding, Foreign, Given, Latencies, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "order",
    asks: "Is min <= p50 <= p99 <= max, and the mean between the ends?",
    source: "definition of a percentile",
    check,
};

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let is_empty = report.requests.as_ref().is_some_and(|requests| requests.value == 0.0);
    report.latencies.iter().flat_map(|latency| of_one(latency, is_empty)).collect()
}

fn of_one(latency: &Latencies, is_empty: bool) -> Vec<Finding> {
    let named = |name: String, figure| (name, range_of(latency, figure));
    let min = latency.min.iter().map(|min| named(latency.claim("min"), min));
    let ranks = latency.percentiles.iter();
    let ranks = ranks.map(|one| named(latency.claim(&one.name()), &one.value));
    let max = latency.max.iter().map(|max| named(latency.claim("max"), max));
    let rising: Vec<(String, Range)> = min.chain(ranks).chain(max).collect();
    let mut wrong: Vec<Finding> = Vec::new();
    for (index, (name, range)) in rising.iter().enumerate() {
        let before = rising[..index].iter().find(|(_, before)| before.low > range.high);
        wrong.extend(before.map(|before| falls(before, (name, *range))));
    }
    // If there were no values, a mean of zero is not compared with ends of zero.
    wrong.extend(of_mean(latency).filter(|_| !is_empty));
    let compared = rising.len() + usize::from(latency.mean.is_some());
    if !wrong.is_empty() || rising.is_empty() || compared < 2 {
        return wrong;
    }
    let mut claims: Vec<&str> = rising.iter().map(|(name, _)| name.as_str()).collect();
    let mean = latency.claim("mean");
    claims.extend(latency.mean.as_ref().map(|_| mean.as_str()));
    let (first, last) = (&rising[0], &rising[rising.len() - 1]);
    let words = format!(
        "{} to {} rise from {} to {}",
        first.0,
        last.0,
        time(first.1.high),
        time(last.1.high)
    );
    vec![settled(Outcome::Holds, &claims, words)]
}

fn falls(before: &(String, Range), after: (&str, Range)) -> Finding {
    let arithmetic = format!(
        "{} is at least {}, and {} at most {}",
        before.0,
        time(before.1.low),
        after.0,
        time(after.1.high)
    );
    open(Outcome::Impossible, &[before.0.as_str(), after.0], arithmetic, AGAIN)
}

fn of_mean(latency: &Latencies) -> Option<Finding> {
    let name = latency.claim("mean");
    let mean = (name.clone(), range_of(latency, latency.mean.as_ref()?));
    let min = latency.min.as_ref().map(|min| (latency.claim("min"), range_of(latency, min)));
    let max = latency.max.as_ref().map(|max| (latency.claim("max"), range_of(latency, max)));
    let below = min.filter(|min| min.1.low > mean.1.high);
    let above = max.filter(|max| mean.1.low > max.1.high);
    match (below, above) {
        (Some(min), _) => Some(falls(&min, (&name, mean.1))),
        (_, Some(max)) => Some(falls(&mean, (&max.0, max.1))),
        _ => None,
    }
}
