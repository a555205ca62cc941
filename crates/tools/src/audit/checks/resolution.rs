//! A time that is no larger than the step in which it was kept or printed is not known.

use super::{Listed, open};
use crate::audit::bounds::range_of;
use crate::audit::say::time;
use model::audit::{Figure, Finding, Foreign, Given, Latencies, Outcome};

pub(super) const LISTED: Listed = Listed {
    id: "resolution",
    asks: "Is a time larger than the step of the clock, of the buckets and of the printed digits?",
    source: "digits as printed; steps from the source of each tool",
    check,
};

/// A time is not known if it may be this many times as long.
const TIMES: f64 = 2.5;

const SETTLE: &str = "use a tool that keeps microseconds, or one that prints more digits (JSON)";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    report.latencies.iter().flat_map(of_one).collect()
}

fn of_one(latency: &Latencies) -> Vec<Finding> {
    let ranks = latency.percentiles.iter().map(|one| (one.name(), &one.value));
    let moments = [("mean", &latency.mean), ("min", &latency.min), ("max", &latency.max)];
    let moments =
        moments.into_iter().filter_map(|(name, one)| Some((name.to_string(), one.as_ref()?)));
    moments.chain(ranks).filter_map(|(name, figure)| of_figure(latency, &name, figure)).collect()
}

fn of_figure(latency: &Latencies, name: &str, figure: &Figure) -> Option<Finding> {
    let range = range_of(latency, figure);
    // These times are not measurements: nothing was sent.
    let is_nothing = range.high == 0.0;
    if is_nothing || range.high <= range.low * TIMES {
        return None;
    }
    let claim = latency.claim(name);
    let arithmetic =
        format!("{} was printed: from {} to {}", figure.printed, time(range.low), time(range.high));
    let finding = open(Outcome::Undecided, &[&claim], arithmetic, SETTLE);
    Some(Finding { bound: Some((Some(range.low), Some(range.high))), ..finding })
}
