//! Times that were added and never measured.
//!
//! wrk adds values for each one above twice the mean time between responses of a connection. At
//! most two are added for each value above that, counting the added ones, so a percentile below it
//! shows by how many ranks they can have moved the others.

use super::{Listed, open};
use crate::audit::say::{percent, time};
use model::audit::{Finding, Foreign, Given, Latencies, Outcome, Since};

pub(super) const LISTED: Listed = Listed {
    id: "added_times",
    asks: "Did the tool add times that it never measured, and how far can they move a figure?",
    source: "wrk 4.2 stats.c, stats_correct; autocannon 8 lib/histUtil.js",
    check,
};

/// A figure holds if they move it by at most this share of the ranks, or of itself.
const MOVED_MAX: f64 = 0.05;

const SETTLE: &str = "use a tool that adds no times: `ceiling load -c CONNECTIONS`";

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let of = |latency: &Latencies| of_one(report, latency);
    let is_asked = |one: &&Latencies| one.since == Since::SendWithAdded;
    report.latencies.iter().filter(is_asked).filter_map(of).collect()
}

fn of_one(report: &Foreign, latency: &Latencies) -> Option<Finding> {
    let (rate, connections) = (report.rate.as_ref()?, report.connections.as_ref()?);
    let between = connections.high / rate.low.max(f64::MIN_POSITIVE);
    let max = latency.max.as_ref()?;
    if max.high <= 2.0 * between {
        return None;
    }
    let below = latency.percentiles.iter().filter(|one| one.value.high <= 2.0 * between);
    let beyond = below.map(|one| 1.0 - one.share).fold(1.0, f64::min);
    let moved = (2.0 * beyond).min(1.0);
    let is_moved = |share: f64| moved >= 1.0 - share || moved > MOVED_MAX;
    let ranks = latency.percentiles.iter().filter(|one| is_moved(one.share));
    let mut claims: Vec<String> = ranks.map(|one| latency.claim(&one.name())).collect();
    let mean = latency.mean.as_ref().filter(|mean| moved * max.high > MOVED_MAX * mean.low);
    claims.extend(mean.map(|_| latency.claim("mean")));
    claims.extend(latency.stdev.as_ref().map(|_| latency.claim("stdev")));
    let arithmetic = format!(
        "{} between responses of a connection, and a maximum of {}: up to {} of the times were \
         added and not measured",
        time(between),
        time(max.value),
        percent(moved)
    );
    (!claims.is_empty()).then(|| open(Outcome::Undecided, &claims, arithmetic, SETTLE))
}
