//! vegeta, `report -type json`.
//!
//! Source: vegeta 12 `lib/metrics.go`, `lib/attack.go`. `rate` is requests over the time in which
//! they were sent, `throughput` (from 2019 on) good responses over that time plus the wait for the
//! last. Percentiles are from a t-digest, before 2018 from another sketch. A latency counts from
//! when a worker took the request. With `-max-workers` the load waits for responses.

use super::{Format, Reader, Report, tallies, total};
use crate::audit::document::Object;
use model::audit::{
    Counts, Figure, Foreign, Latencies, Meaning, Percentile, RateIs, Since, Sum, Tally,
};

pub(super) const FORMAT: Format = Format {
    id: "vegeta-json",
    tool: "vegeta",
    about: "JSON of vegeta report",
    example: "vegeta report -type json results.bin > vegeta.json",
    reader: Reader::Document(is, read),
    reads: &[
        ("requests, rate, good_rate, success", "`requests`, `rate`, `throughput`, `success`"),
        ("good, errors, status.*", "`status_codes`"),
        ("duration, wait", "`duration`, `wait`"),
        ("bytes", "`bytes_in.total`"),
        ("mean, min, max, pN", "`latencies`"),
    ],
    needs: "`requests`",
};

/// What a t-digest may be off by, as a share of the ranks.
pub(super) const DIGEST_RANK: f64 = 0.02;

fn is(root: &Object<'_>) -> bool {
    root.has(&["latencies", "bytes_in", "success", "status_codes"])
}

fn read(root: &Object<'_>) -> Report {
    let requests = root.count("requests").ok_or("requests")?;
    let statuses = tallies(root, "status_codes");
    let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
    let bytes = root.object("bytes_in").and_then(|bytes| bytes.count("total"));
    let mut report = Foreign {
        duration_s: root.scaled("duration", 1e-9),
        wait_s: root.scaled("wait", 1e-9),
        rate: root.scaled("rate", 1.0),
        good_rate: root.scaled("throughput", 1.0),
        success: root.scaled("success", 1.0),
        bytes,
        latencies: root
            .object("latencies")
            .map(|of| latencies(&of, &requests))
            .into_iter()
            .collect(),
        ..Foreign::default()
    };
    finish(&mut report, requests, (statuses, good));
    Ok(report)
}

/// What text and JSON have in common.
pub(super) fn finish(report: &mut Foreign, requests: Figure, of: (Vec<Tally>, Figure)) {
    let (statuses, good) = of;
    if !statuses.is_empty() {
        report.failed = Some(Figure::exact((requests.value - good.value).max(0.0), good.line));
        report.good = Some(good);
        report.sums.push(Sum {
            claims: vec!["requests".into()],
            whole_is: "requests".into(),
            whole: requests.clone(),
            parts_are: "requests by status".into(),
            parts: statuses.iter().map(|one| one.count.clone()).collect(),
            slack: 0.0,
        });
    }
    (report.statuses, report.requests) = (statuses, Some(requests));
    report.meaning = Meaning {
        counts: Counts::Requests,
        rate_is: RateIs::Quotient,
        is_bytes_of_bodies: true,
        ..Meaning::default()
    };
}

fn latencies(of: &Object<'_>, requests: &Figure) -> Latencies {
    let shares = [("50th", 0.5), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99)];
    let rank = |(key, share)| Some(Percentile { share, value: of.scaled(key, 1e-9)? });
    Latencies {
        since: Since::Send,
        mean: of.scaled("mean", 1e-9),
        min: of.scaled("min", 1e-9),
        max: of.scaled("max", 1e-9),
        percentiles: shares.into_iter().filter_map(rank).collect(),
        samples: Some(requests.clone()),
        error_rank: DIGEST_RANK,
        ..Latencies::default()
    }
}
