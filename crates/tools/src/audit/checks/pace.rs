//! Whether a planned rate was kept. If not, the load waited for the server like a closed loop, and
//! no latency includes requests that were due and never sent.

use super::{Listed, open, percentiles, settled};
use crate::audit::say::{number, percent, rate};
use model::audit::{Finding, Foreign, Given, Outcome, Since};

pub(super) const LISTED: Listed = Listed {
    id: "pace",
    asks: "Was the planned rate kept, or did an open loop become a closed one?",
    source: "B. Schroeder et al., Open Versus Closed: A Cautionary Tale (NSDI 2006)",
    check,
};

/// A rate counts as kept if no more than this share is missing.
const MISSING_MAX: f64 = 0.01;

const SETTLE: &str = "run `ceiling load -R RATE`: it counts requests that were due and unsent";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    [of_rate(report), of_dropped(report)].into_iter().flatten().flatten().collect()
}

fn latencies(report: &Foreign) -> Vec<String> {
    let of_requests = report.latencies.iter().filter(|one| one.since != Since::Other);
    let of_one = of_requests.flat_map(|one| {
        let mean = one.mean.as_ref().map(|_| one.claim("mean"));
        percentiles(one, 0.0).into_iter().chain(mean)
    });
    of_one.collect()
}

fn of_rate(report: &Foreign) -> Option<Vec<Finding>> {
    let (target, reached) = (report.target_rate.as_ref()?, report.rate.as_ref()?);
    let words = format!("{} of {} planned", rate(reached.value), rate(target.value));
    // A planned rate of zero means no limit.
    if target.value <= 0.0 {
        return None;
    }
    if reached.high >= target.low * (1.0 - MISSING_MAX) {
        return Some(vec![settled(Outcome::Holds, &["target_rate"], words)]);
    }
    let missing = percent(1.0 - reached.high / target.low);
    let arithmetic = format!("{words}: {missing} were never sent, and are in no latency");
    let load = open(Outcome::Impossible, &["target_rate"], words, SETTLE);
    Some(vec![load, open(Outcome::Undecided, &latencies(report), arithmetic, SETTLE)])
}

fn of_dropped(report: &Foreign) -> Option<Vec<Finding>> {
    let dropped = report.dropped.as_ref().filter(|dropped| dropped.value > 0.0)?;
    let made = report.requests.as_ref().map_or(0.0, |requests| requests.value);
    let share = percent(dropped.value / (dropped.value + made).max(1.0));
    let arithmetic = format!(
        "{} were due and not started, for {} requests made ({share}): they are in no latency",
        number(dropped.value),
        number(made)
    );
    Some(vec![open(Outcome::Undecided, &latencies(report), arithmetic, SETTLE)])
}
