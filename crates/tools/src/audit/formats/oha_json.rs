//! oha, `--output-format json`.
//!
//! Source: oha 1.15 `printer.rs`, `result_data.rs`, `client.rs`. `requestsPerSec` counts every
//! request that ended, including failed ones and those cut off at the deadline. `successRate`
//! counts every response as a success. Times are of responses of any status, in nanoseconds, kept
//! individually. With `--latency-correction` they count from when the request was released.

use super::{Format, Reader, Report, tallies, total};
use crate::audit::document::Object;
use model::audit::{Counts, Figure, Foreign, Latencies, Meaning, Percentile, RateIs, Since, Tally};

pub(super) const FORMAT: Format = Format {
    id: "oha-json",
    tool: "oha",
    about: "JSON of oha",
    example: "oha -z 30s -c 64 --no-tui --output-format json URL > oha.json",
    reader: Reader::Document(is, read),
    reads: &[
        ("rate, success, duration", "`summary.requestsPerSec`, `successRate`, `total`"),
        ("bytes, bytes_rate", "`summary.totalData`, `sizePerRequest`, `sizePerSec`"),
        (
            "requests, good, errors, status.*, errors.*",
            "`statusCodeDistribution`, `errorDistribution`",
        ),
        ("mean, min, max", "`summary.average`, `fastest`, `slowest`"),
        ("pN", "`latencyPercentiles`"),
    ],
    needs: "`summary.requestsPerSec`",
};

fn is(root: &Object<'_>) -> bool {
    let summary = root.object("summary");
    summary.is_some_and(|summary| summary.has(&["requestsPerSec", "successRate"]))
}

fn read(root: &Object<'_>) -> Report {
    let summary = root.object("summary").ok_or("summary")?;
    let statuses = tallies(root, "statusCodeDistribution");
    let errors = tallies(root, "errorDistribution");
    let responses = total(&statuses);
    let good = total(statuses.iter().filter(|one| super::is_good(&one.name)));
    let mut report = Foreign {
        duration_s: summary.scaled("total", 1.0),
        rate: Some(summary.scaled("requestsPerSec", 1.0).ok_or("summary.requestsPerSec")?),
        success: summary.scaled("successRate", 1.0).map(exactly),
        bytes: summary.count("totalData"),
        bytes_rate: summary.scaled("sizePerSec", 1.0),
        latencies: vec![latencies(root, &summary, responses.clone())],
        ..Foreign::default()
    };
    let each = summary.count("sizePerRequest");
    report.sums.extend(super::of_sizes(&report.bytes, each, &responses));
    finish(&mut report, (statuses, errors), (responses, good));
    Ok(report)
}

/// A number as it was: the digits are the shortest that reproduce it, so 1.0 was not 0.96.
fn exactly(figure: Figure) -> Figure {
    Figure::exact(figure.value, figure.line)
}

/// What text and JSON have in common: counts, and what they mean.
pub(super) fn finish(report: &mut Foreign, by: (Vec<Tally>, Vec<Tally>), of: (Figure, Figure)) {
    let ((statuses, errors), (responses, good)) = (by, of);
    let lost = total(&errors);
    // Zero responses may also mean a list that was cut off.
    let is_listed = !(statuses.is_empty() && errors.is_empty());
    let counted = |value: f64, line| is_listed.then(|| Figure::exact(value, line));
    report.requests = counted(responses.value + lost.value, responses.line);
    report.failed = counted(responses.value - good.value + lost.value, responses.line);
    report.good = is_listed.then_some(good);
    (report.statuses, report.errors) = (statuses, errors);
    report.meaning = Meaning {
        counts: Counts::Requests,
        rate_is: RateIs::Quotient,
        is_bytes_of_bodies: true,
        edge_s: Some(0.0),
        ..Meaning::default()
    };
}

fn latencies(root: &Object<'_>, summary: &Object<'_>, samples: Figure) -> Latencies {
    let ranks = root.object("latencyPercentiles");
    let percentile = |(name, node): (&str, crate::audit::document::Node<'_>)| {
        let share: f64 = name.strip_prefix('p')?.parse().ok()?;
        Some(Percentile { share: share / 100.0, value: node.scaled(1.0)? })
    };
    let mut percentiles: Vec<Percentile> =
        ranks.iter().flat_map(Object::entries).filter_map(percentile).collect();
    Percentile::sort(&mut percentiles);
    Latencies {
        since: Since::Unknown,
        mean: summary.scaled("average", 1.0),
        min: summary.scaled("fastest", 1.0),
        max: summary.scaled("slowest", 1.0),
        percentiles,
        samples: Some(samples),
        ..Latencies::default()
    }
}
