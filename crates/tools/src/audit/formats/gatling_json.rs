//! Gatling, `stats.json` and `global_stats.json` of its report.
//!
//! Source: Gatling 3 `charts`. Whole milliseconds; `percentiles1` to `4` are the 50th, 75th, 95th
//! and 99th unless the configuration sets others. The file does not name them, so they refute
//! nothing by their rank. The mean rate is over whole seconds.

use super::{Format, Reader, Report};
use crate::audit::document::Object;
use model::audit::{Counts, Figure, Foreign, Latencies, Meaning, Percentile, RateIs, Since, Sum};

pub(super) const FORMAT: Format = Format {
    id: "gatling-json",
    tool: "gatling",
    about: "stats.json of Gatling",
    example: "results/SIMULATION/js/stats.json",
    reader: Reader::Document(is, read),
    reads: &[
        ("requests, good, errors", "`numberOfRequests`"),
        ("rate", "`meanNumberOfRequestsPerSecond.total`"),
        (
            "mean, stdev, min, max, pN",
            "`meanResponseTime`, `standardDeviation`, `minResponseTime`, `maxResponseTime`, \
             `percentiles1` to `4`",
        ),
    ],
    needs: "`numberOfRequests.total`",
};

fn stats<'a>(root: &Object<'a>) -> Object<'a> {
    root.object("stats").unwrap_or_else(|| root.clone())
}

fn is(root: &Object<'_>) -> bool {
    stats(root).has(&["numberOfRequests", "meanResponseTime"])
}

fn read(root: &Object<'_>) -> Report {
    let stats = stats(root);
    let of = |key: &str, part: &str| stats.object(key).and_then(|of| of.count(part));
    let ms = |key: &str| stats.object(key).and_then(|of| of.scaled("total", 1e-3));
    let all = of("numberOfRequests", "total").ok_or("numberOfRequests.total")?;
    let rate = stats.object("meanNumberOfRequestsPerSecond").and_then(|of| of.scaled("total", 1.0));
    let shares = [0.5, 0.75, 0.95, 0.99].into_iter().zip(1..);
    let rank = |(share, index): (f64, u32)| {
        Some(Percentile { share, value: ms(&format!("percentiles{index}"))? })
    };
    let latency = Latencies {
        since: Since::Send,
        mean: ms("meanResponseTime"),
        stdev: ms("standardDeviation"),
        min: ms("minResponseTime"),
        max: ms("maxResponseTime"),
        percentiles: shares.filter_map(rank).collect(),
        error_rank: 1.0,
        ..Latencies::default()
    };
    let counts = (of("numberOfRequests", "ok"), of("numberOfRequests", "ko"));
    Ok(finish(all, counts, rate, latency))
}

/// What text and JSON have in common.
pub(super) fn finish(
    all: Figure,
    (ok, ko): (Option<Figure>, Option<Figure>),
    rate: Option<Figure>,
    latency: Latencies,
) -> Foreign {
    let sum = |(ok, ko): (&Figure, &Figure)| Sum {
        claims: ["requests", "good", "errors"].map(String::from).to_vec(),
        whole_is: "requests".into(),
        whole: all.clone(),
        parts_are: "OK + KO".into(),
        parts: vec![ok.clone(), ko.clone()],
        slack: 0.0,
    };
    let latency = Latencies {
        since: Since::Send,
        samples: Some(all.clone()),
        step_s: 1e-3,
        error_share: 0.01,
        ..latency
    };
    Foreign {
        sums: ok.as_ref().zip(ko.as_ref()).map(sum).into_iter().collect(),
        rate,
        good: ok,
        failed: ko,
        requests: Some(all),
        latencies: vec![latency],
        meaning: Meaning {
            counts: Counts::Requests,
            rate_is: RateIs::MeanOfWindows,
            edge_s: Some(0.0),
            ..Meaning::default()
        },
        ..Foreign::default()
    }
}
