//! Whether rate and latencies cover the requested time, and whether the time can hold them: no
//! response of a run took longer than the run.

use super::{AGAIN, Listed, open, percentiles};
use crate::audit::bounds::range_of;
use crate::audit::say::{number, percent, time};
use model::audit::{Figure, Finding, Foreign, Given, Latencies, Outcome, Since};

pub(super) const LISTED: Listed = Listed {
    id: "window",
    asks: "Do the figures cover all requests and the whole time, and can it hold the longest one?",
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

fn check(report: &Foreign, _: &Given) -> Vec<Finding> {
    let of = |latency: &Latencies| of_part(report, latency);
    let held = report.latencies.iter().filter_map(|latency| of_longest(report, latency));
    report.latencies.iter().filter_map(of).chain(of_time(report)).chain(held).collect()
}

/// Clocks of a run differ by this share.
const CLOCKS: f64 = 0.01;

/// A latency that is longer than the run it is of.
fn of_longest(report: &Foreign, latency: &Latencies) -> Option<Finding> {
    let duration = report.duration_s.as_ref().filter(|_| latency.since != Since::Other)?;
    // A response may come after the last send, or have been sent before the clock began.
    let around_s = report.wait_s.as_ref().map(|wait| wait.high).or(report.meaning.edge_s)?;
    let most_s = (duration.high + around_s) * (1.0 + CLOCKS);
    let is_of_size = |name: &str| !name.ends_with("stdev");
    let figures = latency.figures().into_iter().filter(|(name, ..)| is_of_size(name));
    let longer: Vec<(String, &Figure)> = figures
        .filter(|(_, _, figure)| range_of(latency, figure).low > most_s)
        .map(|(name, _, figure)| (name, figure))
        .collect();
    let (_, longest) = longer.last()?;
    let words = format!(
        "{} measured cannot hold a latency of {}: these cannot both be",
        time(duration.value + report.wait_s.as_ref().map_or(0.0, |wait| wait.value)),
        time(longest.value)
    );
    let names = longer.iter().map(|(name, _)| name.as_str());
    let claims: Vec<&str> = names.chain(["duration"]).collect();
    Some(open(Outcome::Impossible, &claims, words, AGAIN))
}

fn of_part(report: &Foreign, latency: &Latencies) -> Option<Finding> {
    if latency.since == Since::Other {
        return None;
    }
    let (kept, all) = (latency.samples.as_ref()?, report.requests.as_ref()?);
    let lost: f64 = report.errors.iter().map(|class| class.count.high).sum();
    let responses = (all.low - lost).max(0.0);
    if kept.high >= responses * PART {
        return None;
    }
    let mut claims = percentiles(latency, 0.0);
    claims.extend(latency.mean.as_ref().map(|_| latency.claim("mean")));
    let share = percent(kept.value / responses.max(1.0));
    let arithmetic =
        format!("latencies of {} of {} requests ({share})", number(kept.value), number(responses));
    Some(open(Outcome::Undecided, &claims, arithmetic, SETTLE))
}

fn of_time(report: &Foreign) -> Option<Finding> {
    let (asked, measured) = (report.asked_s.as_ref()?, report.duration_s.as_ref()?);
    let is_short = measured.high < asked.low * PART - ENDING_S;
    let is_long = measured.low > asked.high * LONGER + ENDING_S;
    let words = format!("{} requested, {} measured", time(asked.value), time(measured.value));
    (is_short || is_long).then(|| open(Outcome::Undecided, &["rate"], words, SETTLE))
}
