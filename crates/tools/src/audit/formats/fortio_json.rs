//! fortio, JSON.
//!
//! Source: fortio 1.75 `periodic/periodic.go`, `stats/stats.go`. Latencies count from the actual
//! start; each connection has one request at a time. They are kept in buckets (1 ms by default),
//! and a percentile is interpolated inside its bucket, so it is known only to the ends of that
//! bucket.

use super::{Format, Reader, Report, tallies, total};
use crate::audit::document::Object;
use model::audit::{Counts, Figure, Foreign, Latencies, Loop, Meaning, Percentile, RateIs, Since};

pub(super) const FORMAT: Format = Format {
    id: "fortio-json",
    tool: "fortio",
    about: "JSON of fortio",
    example: "fortio load -c 64 -qps 0 -t 30s -json fortio.json URL",
    reader: Reader::Document(is, read),
    reads: &[
        ("requests, mean, stdev, min, max, pN", "`DurationHistogram`"),
        ("rate, target_rate", "`ActualQPS`, `RequestedQPS`"),
        ("duration", "`ActualDuration`"),
        ("good, errors, status.*", "`RetCodes`"),
    ],
    needs: "`DurationHistogram.Count`",
};

fn is(root: &Object<'_>) -> bool {
    root.has(&["RunType", "DurationHistogram", "ActualQPS"])
}

fn read(root: &Object<'_>) -> Report {
    let histogram = root.object("DurationHistogram").ok_or("DurationHistogram")?;
    let all = histogram.count("Count").ok_or("DurationHistogram.Count")?;
    let target = root.words("RequestedQPS").and_then(|text| text.parse::<f64>().ok());
    let statuses = tallies(root, "RetCodes");
    let latency = latencies(&histogram, &all);
    let target = target.filter(|rate| *rate > 0.0).map(|rate| Figure::exact(rate, 0));
    let mut report = Foreign {
        version: root.words("Version"),
        url: root.words("URL"),
        connections: root.count("NumThreads"),
        duration_s: root.scaled("ActualDuration", 1e-9),
        rate: root.scaled("ActualQPS", 1.0),
        target_rate: target,
        ..Foreign::default()
    };
    finish(&mut report, all, statuses, latency);
    Ok(report)
}

/// What text and JSON have in common.
pub(super) fn finish(
    report: &mut Foreign,
    all: Figure,
    statuses: Vec<model::audit::Tally>,
    latency: Latencies,
) {
    if !statuses.is_empty() {
        let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
        report.failed = Some(Figure::exact((all.value - good.value).max(0.0), good.line));
        report.good = Some(good);
    }
    report.depth = Some(Figure::exact(1.0, 0));
    report.statuses = statuses;
    report.requests = Some(all);
    report.latencies = vec![latency];
    report.meaning = Meaning {
        load: if report.target_rate.is_some() { Loop::Unknown } else { Loop::Closed },
        counts: Counts::Requests,
        rate_is: RateIs::Quotient,
        edge_s: Some(0.0),
        ..Meaning::default()
    };
}

/// The most buckets or percentiles that are read: a file may have been made to be slow to read.
const ROWS_MAX: usize = 10_000;

fn latencies(histogram: &Object<'_>, all: &Figure) -> Latencies {
    let buckets: Vec<(f64, f64)> = histogram
        .get("Data")
        .map(|data| data.list())
        .unwrap_or_default()
        .into_iter()
        .take(ROWS_MAX)
        .filter_map(|node| {
            let bucket = node.object()?;
            Some((bucket.scaled("Start", 1.0)?.low, bucket.scaled("End", 1.0)?.high))
        })
        .collect();
    let listed = histogram.get("Percentiles").map(|list| list.list()).unwrap_or_default();
    let rank = |node: crate::audit::document::Node<'_>| {
        let entry = node.object()?;
        let share = entry.scaled("Percentile", 0.01)?.value;
        let value = within(entry.scaled("Value", 1.0)?, &buckets);
        (0.0..=1.0).contains(&share).then_some(Percentile { share, value })
    };
    let mut percentiles: Vec<Percentile> =
        listed.into_iter().take(ROWS_MAX).filter_map(rank).collect();
    Percentile::sort(&mut percentiles);
    Latencies {
        since: Since::Send,
        mean: histogram.scaled("Avg", 1.0),
        stdev: histogram.scaled("StdDev", 1.0),
        min: histogram.scaled("Min", 1.0),
        max: histogram.scaled("Max", 1.0),
        percentiles,
        samples: Some(all.clone()),
        ..Latencies::default()
    }
}

/// A percentile is known to the ends of the bucket that holds it.
pub(super) fn within(value: Figure, buckets: &[(f64, f64)]) -> Figure {
    let held = buckets.iter().find(|(start, end)| (*start..=*end).contains(&value.value));
    match held {
        Some((start, end)) => {
            Figure { low: value.low.min(*start), high: value.high.max(*end), ..value }
        }
        None => value,
    }
}
