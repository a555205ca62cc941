//! ghz, text.
//!
//! Source: ghz 0.121 `runner/reporter.go`, `runner/stats_handler.go`, `printer/`. A call counts
//! from when its worker makes it to its status. `Average` is over all calls; `Slowest`, `Fastest`
//! and the percentiles are of calls with status OK, of the first million, unless `--count-errors`
//! was given. With `-z` the calls in flight at the end are cut off, and count as failed. Workers
//! (`-c`) share one connection unless `--connections` says otherwise; neither is printed.

use super::oha_text::{percentile, reversed};
use super::{Format, Reader, Report, bracketed, total};
use crate::audit::page::Page;
use crate::audit::printed::{count, rounded, seconds};
use model::audit::{Counts, Figure, Foreign, Latencies, Loop, Meaning, RateIs, Since, Sum, Tally};

pub(super) const FORMAT: Format = Format {
    id: "ghz-text",
    tool: "ghz",
    about: "text of ghz",
    example: "ghz --insecure --call package.Service.Method -c 50 -z 30s HOST:PORT > ghz.txt",
    reader: Reader::Text(is, read),
    reads: &[
        ("requests, duration, rate", "`Count:`, `Total:`, `Requests/sec:`"),
        ("mean, all.*", "`Average:`, of all calls: `all.mean` if some are not OK"),
        ("min, max", "`Fastest:`, `Slowest:`, of calls with status OK"),
        ("pN", "`Latency distribution:`, of calls with status OK"),
        ("good, errors, status.*", "`Status code distribution:`"),
    ],
    needs: "`Count:`",
};

/// Calls that ghz keeps.
const KEPT_MAX: f64 = 1e6;
/// The status of a good call.
const OK: &str = "OK";

fn is(page: Page<'_>) -> bool {
    let labels = ["Count:", "Requests/sec:", "Slowest:", "Average:"];
    labels.iter().all(|label| page.starting(label).is_some())
}

fn read(page: Page<'_>) -> Report {
    let time = |label: &str| page.starting(label).and_then(|spot| spot.read(seconds));
    let all = page.starting("Count:").and_then(|spot| spot.read(count)).ok_or("Count")?;
    let mut report = Foreign {
        duration_s: time("Total:"),
        rate: page.starting("Requests/sec:").and_then(|spot| spot.read(rounded)),
        ..Foreign::default()
    };
    let statuses = bracketed(page, "Status code distribution:");
    // The text of an error has the name of its status, and every error has a status.
    let classes = reversed(page, "Error distribution:");
    let of_ok = Latencies {
        min: time("Fastest:"),
        max: time("Slowest:"),
        percentiles: page.below("Latency distribution:").map_while(percentile).collect(),
        ..Latencies::default()
    };
    finish(&mut report, all, (statuses, classes), (of_ok, time("Average:")));
    report.meaning.load = Loop::Unknown;
    Ok(report)
}

/// What text and JSON have in common. `of_ok` are the latencies of the calls with status OK, beside
/// them is the mean of all calls.
pub(super) fn finish(
    report: &mut Foreign,
    all: Figure,
    of: (Vec<Tally>, Vec<Tally>),
    times: (Latencies, Option<Figure>),
) {
    let ((statuses, classes), (of_ok, mean)) = (of, times);
    let good = total(statuses.iter().filter(|one| one.name == OK));
    let bad = (all.value - good.value).max(0.0);
    let sum = |parts: &[Tally], whole: &Figure, whole_is: &str, parts_are: &str| Sum {
        claims: vec!["requests".into()],
        whole_is: whole_is.into(),
        whole: whole.clone(),
        parts_are: parts_are.into(),
        parts: parts.iter().map(|one| one.count.clone()).collect(),
        slack: 0.0,
    };
    report.sums = vec![sum(&statuses, &all, "calls", "calls by status")];
    if !classes.is_empty() {
        let failed = Figure::exact(bad, good.line);
        report.sums.push(sum(&classes, &failed, "calls that are not OK", "errors by their text"));
    }
    let is_kept = all.value <= KEPT_MAX;
    let samples = |calls: &Figure| is_kept.then(|| calls.clone());
    let is_all = bad == 0.0;
    let of_ok = Latencies {
        since: Since::Send,
        mean: mean.clone().filter(|_| is_all),
        samples: samples(&good),
        ..of_ok
    };
    report.latencies = vec![of_ok];
    if !is_all {
        let samples = samples(&all);
        let name = "all".to_string();
        let of_all = Latencies { name, since: Since::Send, mean, samples, ..Latencies::default() };
        report.latencies.push(of_all);
    }
    report.failed = Some(Figure::exact(bad, good.line));
    (report.good, report.requests, report.statuses) = (Some(good), Some(all), statuses);
    // A worker has one call in flight.
    report.depth = Some(Figure::exact(1.0, 0));
    report.meaning = Meaning {
        load: Loop::Closed,
        counts: Counts::Requests,
        rate_is: RateIs::Quotient,
        edge_s: Some(0.0),
        ..Meaning::default()
    };
}
